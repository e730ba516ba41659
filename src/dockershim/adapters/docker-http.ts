import { Buffer } from 'node:buffer';
import { Agent, request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import type { ErrorKind } from '../../base/errors.ts';
import { parseRecord } from '../../base/json-record.ts';
import { LineSplitter } from '../../base/line-splitter.ts';
import { parseJsonQuietly } from '../../base/quiet-parse.ts';
import { readText } from '../../base/read-text.ts';

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

export interface DockerCall {
  /** The operation in the words of an operator, for error messages: `create container`. */
  readonly op: string;
  readonly method: 'GET' | 'POST' | 'DELETE' | 'HEAD';
  /** The path after the version: `/containers/json`. */
  readonly path: string;
  readonly query?: Query;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** A list of a thousand containers has about 3 MB. */
const MOST_ANSWER_BYTES = 64 * 1024 * 1024;
const MOST_ERROR_BYTES = 64 * 1024;
/** The longest line of a pull's progress or of the event stream. */
const MOST_LINE_CHARACTERS = 1024 * 1024;
const MOST_SOCKETS = 64;
const IDLE_SOCKETS = 8;
/**
 * The engine closes idle connections without notice. A short lifetime avoids requests on a connection that is closing.
 */
const IDLE_MS = 10_000;

/** The versions of the API that this client speaks. The oldest is that of Docker 20.10. */
const oldestVersion = [1, 41] as const;
const newestVersion = [1, 51] as const;

/**
 * HTTP to Docker Engine over its unix socket, with `node:http` and without a client library: the well-known libraries
 * would load ssh, tar and a second gRPC into a root process, for about twenty JSON calls (docs/adr/docker-client.md).
 */
export class DockerHttp {
  readonly #socketPath: string;
  readonly #agent = new Agent({
    keepAlive: true,
    maxSockets: MOST_SOCKETS,
    maxFreeSockets: IDLE_SOCKETS,
    timeout: IDLE_MS,
  });
  /** Negotiated with the first call that Docker answers. */
  #version: string | undefined;

  constructor(socketPath: string) {
    this.#socketPath = socketPath;
  }

  close(): void {
    this.#agent.destroy();
  }

  /** The answer as JSON. Rejects as `DockerEngine` says; an answer that is not JSON is `Internal`. */
  async json(call: DockerCall): Promise<unknown> {
    const answer = await this.#answer(call);
    const text = await this.#text(call, answer);
    try {
      return text === '' ? undefined : parseJsonQuietly(text);
    } catch (error) {
      throw new KubeletError('Internal', `${call.op}: Docker's answer is not JSON`, { op: call.op, cause: error });
    }
  }

  /** For calls whose answer does not matter. */
  async run(call: DockerCall): Promise<void> {
    await this.#text(call, await this.#answer(call));
  }

  /** The body as a stream of chunks. */
  async stream(call: DockerCall): Promise<AsyncIterable<Uint8Array>> {
    return this.#answer(call, { isOwn: true });
  }

  /** A body of JSON objects, one a line. `onOpen` is called before the first one. */
  async *lines(call: DockerCall, onOpen?: () => void): AsyncIterable<unknown> {
    const answer = await this.#answer(call, { isOwn: true });
    onOpen?.();
    const splitter = new LineSplitter();
    const decoder = new TextDecoder();
    try {
      for await (const chunk of answer) {
        for (const line of splitter.push(decoder.decode(chunk as Buffer, { stream: true })))
          if (line.trim() !== '') yield parseJsonQuietly(line);
        if (splitter.heldLength > MOST_LINE_CHARACTERS)
          throw new KubeletError('Internal', `${call.op}: Docker wrote a line without an end`, { op: call.op });
      }
      if (splitter.heldLength > 0)
        throw new KubeletError('Internal', `${call.op}: Docker's last line has no end`, { op: call.op });
    } catch (error) {
      throw broken(call, error);
    } finally {
      answer.destroy();
    }
  }

  /** A raw connection, which attach and exec switch to. */
  async hijack(call: DockerCall): Promise<Duplex> {
    const path = await this.#pathOf(call);
    return new Promise((resolve, reject) => {
      const request = this.#send(call, path, { connection: 'Upgrade', upgrade: 'tcp' }, undefined);
      request.on('upgrade', (_answer: IncomingMessage, socket: Duplex, head: Buffer) => {
        if (head.length > 0) socket.unshift(head);
        resolve(socket);
      });
      request.on('response', (answer) => {
        // The connection is closed after the answer was read: it has the error message.
        request.removeAllListeners('close');
        void this.#text(call, answer)
          .then((text) => reject(refused(call, answer.statusCode ?? 0, text)))
          .catch(reject);
      });
      request.on('error', (error) => reject(broken(call, error)));
      request.on('close', () => reject(broken(call, new Error('the connection was closed without an answer'))));
    });
  }

  async #answer(call: DockerCall, { isOwn = false } = {}): Promise<IncomingMessage> {
    const path = await this.#pathOf(call);
    const answer = await this.#exchange(call, path, isOwn);
    const status = answer.statusCode ?? 0;
    // 304: it was already started or stopped.
    if ((status >= 200 && status < 300) || status === 304) return answer;
    throw refused(call, status, await this.#text(call, answer, MOST_ERROR_BYTES));
  }

  #exchange(call: DockerCall, path: string, isOwn: boolean): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const request = this.#send(call, path, {}, isOwn ? undefined : this.#agent);
      request.on('response', resolve);
      request.on('upgrade', (_answer: IncomingMessage, socket: Duplex) => socket.destroy());
      request.on('error', (error) => reject(broken(call, error)));
      request.on('close', () => reject(broken(call, new Error('the connection was closed without an answer'))));
    });
  }

  #send(
    { method, body, headers, signal }: DockerCall,
    path: string,
    more: Readonly<Record<string, string>>,
    agent: Agent | undefined,
  ): ClientRequest {
    const text = body === undefined ? undefined : JSON.stringify(body);
    const request = httpRequest({
      socketPath: this.#socketPath,
      agent: agent ?? false,
      method,
      path,
      headers: {
        host: 'docker',
        ...more,
        ...headers,
        ...(text !== undefined && {
          'content-type': 'application/json',
          'content-length': String(Buffer.byteLength(text)),
        }),
      },
      ...(signal !== undefined && { signal }),
    });
    request.end(text);
    return request;
  }

  async #text(call: DockerCall, answer: IncomingMessage, limitBytes = MOST_ANSWER_BYTES): Promise<string> {
    let text: string | undefined;
    try {
      text = await readText(answer, limitBytes, call.signal);
    } catch (error) {
      throw broken(call, error);
    }
    if (text !== undefined) return text;
    throw new KubeletError('Internal', `${call.op}: Docker's answer is longer than ${limitBytes} bytes`, {
      op: call.op,
    });
  }

  async #pathOf({ path, query = {}, signal }: DockerCall): Promise<string> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const text = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
    return `/v${(this.#version ??= await this.#negotiate(signal))}${path}${text === '' ? '' : `?${text}`}`;
  }

  async #negotiate(signal: AbortSignal | undefined): Promise<string> {
    const call = { op: 'ask Docker for its version', method: 'GET', path: '/version', signal } as const;
    const answer = await this.#exchange(call, call.path, false);
    const text = await this.#text(call, answer, MOST_ERROR_BYTES);
    if (answer.statusCode !== 200) throw refused(call, answer.statusCode ?? 0, text);
    const parsed = parseRecord(text);
    if (parsed === undefined)
      throw new KubeletError('Internal', `${call.op}: Docker's answer is not an object`, { op: call.op });
    const { ApiVersion = '', MinAPIVersion = '' } = parsed;
    return chooseVersion(String(ApiVersion), String(MinAPIVersion));
  }
}

/** The newest version that both sides speak. Throws `Unimplemented` when there is none. */
export function chooseVersion(newestOfEngine: string, oldestOfEngine: string): string {
  const newest = least(numbersOf(newestOfEngine) ?? oldestVersion, newestVersion);
  const oldest = numbersOf(oldestOfEngine) ?? oldestVersion;
  if (least(newest, oldestVersion) !== oldestVersion || (least(newest, oldest) !== oldest && !isSame(newest, oldest)))
    throw new KubeletError(
      'Unimplemented',
      `Docker speaks version ${oldestOfEngine || '?'} to ${newestOfEngine || '?'} of its API, this shim ${oldestVersion.join('.')} to ${newestVersion.join('.')}: use Docker 20.10 or newer`,
    );
  return newest.join('.');
}

type ApiVersion = readonly [number, number];

function numbersOf(text: string): ApiVersion | undefined {
  const match = /^(\d{1,4})\.(\d{1,4})$/.exec(text);
  return match === null ? undefined : [Number(match[1]), Number(match[2])];
}

const isSame = (one: ApiVersion, other: ApiVersion): boolean => one[0] === other[0] && one[1] === other[1];

function least(one: ApiVersion, other: ApiVersion): ApiVersion {
  const isLess = one[0] < other[0] || (one[0] === other[0] && one[1] < other[1]);
  return isLess ? one : other;
}

const errorKinds: ReadonlyMap<number, ErrorKind> = new Map([
  [400, 'Invalid'],
  [404, 'NotFound'],
  [409, 'Conflict'],
  [501, 'Unimplemented'],
  [503, 'Unavailable'],
]);

function refused({ op }: DockerCall, status: number, text: string): KubeletError {
  const { message } = parseRecord(text) ?? {};
  const words = typeof message === 'string' ? message : text.slice(0, 1024);
  return new KubeletError(errorKinds.get(status) ?? 'Internal', words || `Docker answered with status ${status}`, {
    op,
  });
}

function broken({ op, signal }: DockerCall, error: unknown): KubeletError {
  if (error instanceof KubeletError) return error;
  if (signal?.aborted === true) return new KubeletError('Aborted', `${op} was aborted`, { op, cause: error });
  return new KubeletError('Unavailable', `Docker cannot be reached: ${errorMessage(error)}`, { op, cause: error });
}
