import type http from 'node:http';
import type https from 'node:https';
import { KubeletError } from '../../../base/errors.ts';

/**
 * Resolves when the server listens. Rejects with `AlreadyExists` if the address is in use. `onFailure` receives later
 * errors, such as too many open files, which must not end the agent.
 */
export function bindServer(
  server: http.Server | https.Server,
  where: { host: string; port: number } | { path: string },
  address: string,
  onFailure: (error: Error) => void = () => undefined,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let isBound = false;
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (isBound) onFailure(error);
      else
        reject(
          new KubeletError(
            error.code === 'EADDRINUSE' ? 'AlreadyExists' : 'Unavailable',
            `cannot listen on ${address}: ${error.message}`,
            { op: 'listen', cause: error },
          ),
        );
    });
    server.listen(where, () => {
      isBound = true;
      resolve();
    });
  });
}

/** Closes the server and open connections. */
export function closeServer(server: http.Server | https.Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
