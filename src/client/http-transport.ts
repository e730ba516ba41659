import { Buffer } from 'node:buffer';
import { request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent, request as httpsRequest } from 'node:https';
import { apiErrorFromStatus, ApiStatusError } from '../api/status/api-status-error.ts';
import type { Status } from '../api/status/status.ts';
import type { ClusterAccess } from './kubeconfig.ts';

export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** With its query. */
  readonly path: string;
  readonly body?: object;
  readonly contentType?: string;
}

/** How long a request that is no watch may take. */
const requestTimeoutMs = 60_000;
/** A watch on which nothing comes for so long is taken for dead: servers send bookmarks every minute. */
const silenceMs = 180_000;

/** JSON over HTTP/1.1 with connections that stay open. Every refusal is an `ApiStatusError`; an unreachable server is one with reason ServiceUnavailable. */
export class HttpTransport {
  readonly #access: ClusterAccess;
  readonly #agent: Agent;
  readonly #userAgent: string;

  constructor(access: ClusterAccess, { userAgent, maxSockets = 16 }: { readonly userAgent: string; readonly maxSockets?: number }) {
    this.#access = access;
    this.#userAgent = userAgent;
    const { ca, certificate, key, insecureSkipTlsVerify, tlsServerName } = access;
    this.#agent = new Agent({
      keepAlive: true,
      maxSockets,
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
    return text === '' ? undefined : (JSON.parse(text) as unknown);
  }

  /** The lines of a watch, until the server ends it or `signal` aborts. */
  async *lines(path: string, signal: AbortSignal): AsyncGenerator<string> {
    const response = await this.#open({ method: 'GET', path }, silenceMs, signal);
    if ((response.statusCode ?? 500) >= 300) throw refusal(response.statusCode ?? 500, await textOf(response));
    response.setEncoding('utf8');
    let rest = '';
    for await (const chunk of response as AsyncIterable<string>) {
      const parts = (rest + chunk).split('\n');
      rest = parts.pop() ?? '';
      for (const line of parts) if (line !== '') yield line;
    }
  }

  async #exchange(request: ApiRequest): Promise<string> {
    const response = await this.#open(request, requestTimeoutMs);
    const text = await textOf(response);
    const code = response.statusCode ?? 500;
    if (code >= 300) throw refusal(code, text);
    return text;
  }

  #open({ method, path, body, contentType = 'application/json' }: ApiRequest, idleMs: number, signal?: AbortSignal): Promise<IncomingMessage> {
    const { server, token, username, password } = this.#access;
    const text = body === undefined ? undefined : JSON.stringify(body);
    const authorization = token !== undefined ? `Bearer ${token}` : username !== undefined ? `Basic ${Buffer.from(`${username}:${password ?? ''}`).toString('base64')}` : undefined;
    const headers = {
      accept: 'application/json',
      'user-agent': this.#userAgent,
      ...(authorization !== undefined && { authorization }),
      ...(text !== undefined && { 'content-type': contentType, 'content-length': String(Buffer.byteLength(text)) }),
    };
    const secure = server.startsWith('https:');
    return new Promise((resolve, reject) => {
      const fail = (error: Error): void => reject(new ApiStatusError('ServiceUnavailable', `${method} ${server}${path}: ${error.message}`, undefined, { cause: error }));
      // A watch holds its connection for long, so it has one of its own.
      const agent = secure && signal === undefined ? { agent: this.#agent } : secure ? { agent: new Agent({ ...this.#agent.options, keepAlive: false }) } : {};
      const options = { method, headers, ...agent, ...(signal !== undefined && { signal }) };
      const outgoing = secure ? httpsRequest(server + path, options, resolve) : httpRequest(server + path, options, resolve);
      outgoing.setTimeout(idleMs, () => outgoing.destroy(new Error(`nothing came for ${idleMs / 1000} s`)));
      outgoing.on('error', fail);
      outgoing.end(text);
    });
  }
}

async function textOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks).toString('utf8');
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
