import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import http from 'node:http';
import path from 'node:path';
import { getRequestListener } from '@hono/node-server';
import { KubeletError } from '../../../base/errors.ts';

/** A Hono app, by the only thing needed of it. */
export interface FetchApp {
  fetch(request: Request): Response | Promise<Response>;
}

export interface Listening {
  /** Where it listens, for the log. */
  address: string;
  close(): Promise<void>;
}

const HEADERS_LIMIT_MS = 30_000;

function serve(app: FetchApp): http.Server {
  const listener = getRequestListener((request) => app.fetch(request), { overrideGlobalObjects: false });
  const server = http.createServer((request, response) => void listener(request, response));
  server.headersTimeout = HEADERS_LIMIT_MS;
  // Logs and watches stay open for as long as somebody reads them.
  server.requestTimeout = 0;
  return server;
}

function listen(
  server: http.Server,
  where: { host: string; port: number } | { path: string },
  address: string,
): Promise<Listening> {
  return new Promise((resolve, reject) => {
    // Stays for good: an error later on, such as no free descriptor for a connection, must not end the agent.
    server.on('error', (error: NodeJS.ErrnoException) => {
      reject(
        new KubeletError(
          error.code === 'EADDRINUSE' ? 'AlreadyExists' : 'Unavailable',
          `cannot listen on ${address}: ${error.message}`,
          { op: 'listen', cause: error },
        ),
      );
    });
    server.listen(where, () => resolve({ address, close: () => close(server) }));
  });
}

function close(server: http.Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Rejects with `AlreadyExists` when the port is taken. */
export function listenTcp(app: FetchApp, host: string, port: number): Promise<Listening> {
  return listen(serve(app), { host, port }, `${host}:${port}`);
}

/**
 * A socket that only root may open, at no moment anybody else: it is made in a folder of root's and moved into place.
 * A file left by an agent that was killed is replaced; the caller holds the instance lock.
 */
export async function listenUnix(app: FetchApp, socketPath: string): Promise<Listening> {
  const parent = path.dirname(socketPath);
  await mkdir(parent, { recursive: true, mode: 0o750 });
  // As short as can be: the kernel takes no path longer than 107 bytes.
  const folder = await mkdtemp(`${parent}/.`);
  try {
    const made = `${folder}/s`;
    const listening = await listen(serve(app), { path: made }, socketPath);
    await chmod(made, 0o600);
    await rename(made, socketPath);
    return {
      address: socketPath,
      close: async () => {
        await listening.close();
        await rm(socketPath, { force: true });
      },
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
