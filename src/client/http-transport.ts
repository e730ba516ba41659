import { Buffer } from 'node:buffer';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { apiErrorFromStatus, ApiStatusError } from '../api/status/api-status-error.ts';
import type { Status } from '../api/status/status.ts';
import { errorMessage } from '../base/errors.ts';
import type { ClusterAccess } from './cluster-access.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

export interface HttpTransportOptions {
  readonly userAgent: string;
  /** Connections for requests that are no watches; each watch has one of its own. */
  readonly maxSockets?: number;
  /** How long nothing may come while a request that is no watch is answered. */
  readonly requestIdleMs?: number;
  /** A watch on which nothing comes for so long is taken for dead: servers send bookmarks every minute. */
  readonly watchIdleMs?: number;
}

/**
 * JSON over HTTP/1.1 with connections that stay open. Every refusal is an `ApiStatusError`; a server that cannot be reached, falls silent, ends in the
 * middle of an answer or answers with what is no JSON is one with reason ServiceUnavailable.
 */
export class HttpTransport {
  readonly #access: ClusterAccess;
  readonly #agent: Agent;
  readonly #options: Required<HttpTransportOptions>;

  constructor(access: ClusterAccess, options: HttpTransportOptions) {
    this.#access = access;
    this.#options = { maxSockets: 16, requestIdleMs: 60_000, watchIdleMs: 180_000, ...options };
    const { ca, certificate, key, insecureSkipTlsVerify, tlsServerName } = access;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets: this.#options.maxSockets,
      rejectUnauthorized: !insecureSkipTlsVerify,
      ...(ca !== undefined && { ca }),
      ...(certificate !== undefined && { cert: certificate }),
      ...(key !== undefined && { key }),
      ...(tlsServerName !== undefined && { servername: tlsServerName }),
    });
  }

  close(): void {
    this.#agent.destroy();
  }

  async send(request: ApiRequest): Promise<unknown> {
    const text = await this.#exchange(request);
    return text === '' ? undefined : this.#parse(request, text);
  }

  /** The values of a watch, one a line, until the server ends it. Rejects when `signal` aborts. */
  async *stream(path: string, signal: AbortSignal): AsyncGenerator<unknown> {
    const request = { method: 'GET', path } as const;
    const response = await this.#open(request, this.#options.watchIdleMs, signal);
    if ((response.statusCode ?? 500) >= 300) throw refusal(response.statusCode ?? 500, await this.#textOf(request, response));
    response.setEncoding('utf8');
    let rest = '';
    try {
      for await (const chunk of response as AsyncIterable<string>) {
        const parts = (rest + chunk).split('\n');
        rest = parts.pop() ?? '';
        for (const line of parts) if (line !== '') yield this.#parse(request, line);
      }
    } catch (error) {
      throw error instanceof ApiStatusError ? error : this.#failure(request, error);
    }
    // A line without its end is half an event: whoever watches goes on after the last whole one.
  }

  async #exchange(request: ApiRequest): Promise<string> {
    const response = await this.#open(request, this.#options.requestIdleMs);
    const text = await this.#textOf(request, response);
    const code = response.statusCode ?? 500;
    if (code >= 300) throw refusal(code, text);
    return text;
  }

  async #textOf(request: ApiRequest, response: IncomingMessage): Promise<string> {
    const chunks: Buffer[] = [];
    try {
      for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
    } catch (error) {
      throw this.#failure(request, error);
    }
    return Buffer.concat(chunks).toString('utf8');
  }

  #parse(request: ApiRequest, text: string): unknown {
    try {
      return JSON.parse(text) as unknown;
    } catch (error) {
      throw this.#failure(request, error);
    }
  }

  #failure({ method, path }: ApiRequest, cause: unknown): ApiStatusError {
    return new ApiStatusError('ServiceUnavailable', `${method} ${this.#access.server}${path}: ${errorMessage(cause)}`, undefined, { cause });
  }

  #open(request: ApiRequest, idleMs: number, signal?: AbortSignal): Promise<IncomingMessage> {
    const { method, path, body, contentType = 'application/json' } = request;
    const { server, token, username, password } = this.#access;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const authorization = token !== undefined ? `Bearer ${token}` : username !== undefined ? `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` : undefined;
    const headers = {
      accept: 'application/json',
      'user-agent': this.#options.userAgent,
      ...(authorization !== undefined && { authorization }),
      ...(text !== undefined && { 'content-type': contentType, 'content-length': String(Buffer.byteLength(text)) }),
    };
    const secure = server.startsWith('https:');
    return new Promise((resolve, reject) => {
      // A watch holds its connection for long, so it has one of its own.
      const agent = secure && signal === undefined ? { agent: this.#agent } : secure ? { agent: new Agent({ ...this.#agent.options, keepAlive: false }) } : {};
      const options = { method, headers, ...agent, ...(signal !== undefined && { signal }) };
      const outgoing = secure ? httpsRequest(server + path, options, resolve) : httpRequest(server + path, options, resolve);
      outgoing.setTimeout(idleMs, () => outgoing.destroy(new Error(`nothing came for ${idleMs / 1000} s`)));
      outgoing.on('error', (error) => reject(this.#failure(request, error)));
      outgoing.end(text);
    });
  }
}

/** The Status of an answer, or one made of its code when it has none: whatever stands between here and the server need not speak JSON. */
function refusal(code: number, text: string): ApiStatusError {
  return apiErrorFromStatus(asStatus(text) ?? { code, message: `the server answered ${code}: ${text.slice(0, 200)}` });
}

function asStatus(text: string): Status | undefined {
  try {
    const status = JSON.parse(text) as Status | null;
    return status?.kind === 'Status' ? status : undefined;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
