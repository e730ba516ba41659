import { existsSync } from 'node:fs';
import http from 'node:http';
import { errorMessage, KubeletError, type ErrorKind } from '../../../base/errors.ts';

/** Where an agent's socket is when nobody says: that of a node agent, then that of `npm run up`. */
const DEFAULT_SOCKETS = ['/var/lib/kubelet/kubelet.sock', '/var/lib/kubelet-ts/kubelet/kubelet.sock'];

/** `--socket`, else $KUBELET_SOCKET, else the first of the usual places that exists. */
export function findSocket(given: string | undefined, env: Readonly<Record<string, string | undefined>>): string {
  const fromEnv = env['KUBELET_SOCKET'];
  if (given !== undefined) return given;
  if (fromEnv !== undefined && fromEnv !== '') return fromEnv;
  return DEFAULT_SOCKETS.find((path) => existsSync(path)) ?? (DEFAULT_SOCKETS[0] as string);
}

/** Speaks HTTP to the running agent over its unix socket. */
export class ApiClient {
  readonly #socketPath: string;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  async json<T>(path: string, body?: unknown): Promise<T> {
    const response = await this.open(path, body);
    try {
      return JSON.parse(await readAll(response)) as T;
    } catch (error) {
      throw new KubeletError('Unavailable', `the agent's answer broke off: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** The answer as a stream. Rejects with `NotFound`, `Invalid` ... carrying the agent's own words. */
  open(path: string, body?: unknown): Promise<http.IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = http.request(
        { socketPath: this.#socketPath, path, method: body === undefined ? 'GET' : 'POST' },
        (response) => {
          if (response.statusCode === 200) resolve(response);
          else readError(response).then(reject, reject);
        },
      );
      request.on('error', (error: NodeJS.ErrnoException) => reject(this.#explain(error)));
      request.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
    });
  }

  #explain(error: NodeJS.ErrnoException): KubeletError {
    const path = this.#socketPath;
    if (error.code === 'EACCES')
      return new KubeletError('Invalid', `${path}: only root may talk to the agent; try again with sudo`);
    if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') {
      return new KubeletError(
        'Unavailable',
        `no agent answers at ${path}; start one (npm run up), or say where it is with --socket PATH or KUBELET_SOCKET`,
      );
    }
    return new KubeletError('Unavailable', `${path}: ${error.message}`);
  }
}

async function readError(response: http.IncomingMessage): Promise<KubeletError> {
  const text = (await readAll(response)).trim();
  return new KubeletError(
    kindOf(response.statusCode ?? 0),
    text === '' ? `the agent answered ${response.statusCode}` : text,
  );
}

function kindOf(statusCode: number): ErrorKind {
  if (statusCode === 404) return 'NotFound';
  return statusCode >= 500 ? 'Unavailable' : 'Invalid';
}

async function readAll(response: http.IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
