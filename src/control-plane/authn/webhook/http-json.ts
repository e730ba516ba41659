import { request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { KubeletError } from '../../../base/errors.ts';
import { answerTo } from '../../../base/node-answer.ts';
import { readText } from '../../../base/read-text.ts';

export interface HttpJsonTarget {
  readonly url: string;
  /** CA certificates in PEM; default: the system's. */
  readonly ca?: string;
  readonly certificate?: string;
  readonly key?: string;
  readonly bearerToken?: string;
  /** The name for which the server's certificate is verified, if it differs from the host. */
  readonly serverName?: string;
  readonly timeoutMs: number;
}

export interface HttpJsonAnswer {
  readonly status: number;
  readonly body: unknown;
}

const LIMIT_BYTES = 4 << 20;

/**
 * Posts JSON (a string is sent unchanged) to a fixed address. Redirects are not followed. The size of the response and
 * the total time are limited. Rejects with `Timeout`, `Unavailable` (no connection, or cut off) or `Invalid` (not JSON,
 * or too large). Every HTTP status is a result.
 */
export async function askJson(target: HttpJsonTarget, body?: object | string): Promise<HttpJsonAnswer> {
  const signal = AbortSignal.timeout(target.timeoutMs);
  try {
    const response = await send(target, body, signal);
    const text = await readText(response as AsyncIterable<Buffer>, LIMIT_BYTES, signal);
    if (text === undefined) throw new KubeletError('Invalid', `the answer is longer than ${LIMIT_BYTES} bytes`);
    return { status: response.statusCode ?? 0, body: parseBody(target.url, response.statusCode ?? 0, text) };
  } catch (error) {
    if (error instanceof KubeletError) throw error;
    if (signal.aborted)
      throw new KubeletError('Timeout', `${target.url} did not answer within ${target.timeoutMs} ms`, { cause: error });
    throw new KubeletError('Unavailable', `${target.url}: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    });
  }
}

function send(
  target: HttpJsonTarget,
  body: object | string | undefined,
  signal: AbortSignal,
): Promise<IncomingMessage> {
  const { url, ca, certificate, key, bearerToken, serverName } = target;
  const text = body === undefined || typeof body === 'string' ? body : JSON.stringify(body);
  const headers = {
    accept: 'application/json',
    ...(text !== undefined && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
    ...(bearerToken !== undefined && { authorization: `Bearer ${bearerToken}` }),
  };
  const options: RequestOptions = { method: text === undefined ? 'GET' : 'POST', headers, signal };
  const made = url.startsWith('https:')
    ? httpsRequest(url, {
        ...options,
        ...(ca !== undefined && { ca }),
        ...(certificate !== undefined && { cert: certificate }),
        ...(key !== undefined && { key }),
        ...(serverName !== undefined && { servername: serverName }),
      })
    : httpRequest(url, options);
  made.end(text);
  return answerTo(made);
}

/** Parses the body. Bodies of errors may have any content. */
function parseBody(url: string, status: number, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    if (status >= 300) return text;
    throw new KubeletError('Invalid', `${url} answered ${status} with a body that is not JSON`);
  }
}
