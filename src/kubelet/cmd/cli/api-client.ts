import { existsSync } from 'node:fs';
import http from 'node:http';
import type { ErrorKind } from '../../../base/errors.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { answerTo } from '../../../base/node-answer.ts';
import { readText } from '../../../base/read-text.ts';

/** The default sockets of an agent: that of a node agent, then that of `npm run up`. */
const defaultSockets = ['/var/lib/kubelet/kubelet.sock', '/var/lib/kubelet-ts/kubelet/kubelet.sock'];

/** Returns the path of `--socket`, else of $KUBELET_SOCKET, else the first default socket that exists. */
export function findSocket(given: string | undefined, env: Readonly<Record<string, string | undefined>>): string {
  const fromEnv = env['KUBELET_SOCKET'];
  if (given !== undefined) return given;
  if (fromEnv !== undefined && fromEnv !== '') return fromEnv;
  return defaultSockets.find((path) => existsSync(path)) ?? (defaultSockets[0] as string);
}

/** The maximum size of an answer in bytes: enough for all pods of an agent. */
const LONGEST_ANSWER = 32 * 1024 * 1024;

/** Sends HTTP requests to the running agent over its unix socket. */
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
      throw new KubeletError('Unavailable', `the agent's answer ended early: ${errorMessage(error)}`, { cause: error });
    }
  }

  /** Returns the answer as a stream. Rejects with `NotFound`, `Invalid` ... and the agent's message. */
  async open(path: string, body?: unknown): Promise<http.IncomingMessage> {
    const request = http.request({ socketPath: this.#socketPath, path, method: body === undefined ? 'GET' : 'POST' });
    request.end(body === undefined ? undefined : typeof body === 'string' ? body : JSON.stringify(body));
    const response = await answerTo(request).catch((error: unknown) => {
      throw this.#explain(error as NodeJS.ErrnoException);
    });
    if (response.statusCode === 200) return response;
    throw await readError(response);
  }

  #explain(error: NodeJS.ErrnoException): KubeletError {
    const path = this.#socketPath;
    if (error.code === 'EACCES')
      return new KubeletError('Invalid', `${path}: only root may talk to the agent; try again with sudo`);
    if (error.code === 'ENOENT' || error.code === 'ECONNREFUSED') {
      return new KubeletError(
        'Unavailable',
        `no agent answers at ${path}; start one (npm run up), or name its socket with --socket PATH or KUBELET_SOCKET`,
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
  const text = await readText(response as AsyncIterable<Buffer>, LONGEST_ANSWER);
  if (text === undefined)
    throw new KubeletError('Unavailable', `the agent's answer is longer than ${LONGEST_ANSWER} bytes`);
  return text;
}
