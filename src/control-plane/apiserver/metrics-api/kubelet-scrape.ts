import { request as httpRequest } from 'node:http';
import type { Duplex } from 'node:stream';
import { answerTo } from '../../../base/node-answer.ts';
import { readText } from '../../../base/read-text.ts';
import type { Dialer, DialTarget } from '../options.ts';

const PATH = '/metrics/resource';
const DIAL_TIMEOUT_MS = 5000;
const ANSWER_TIMEOUT_MS = 10_000;
/** The maximum size of a response, for 10,000 containers. */
const LONGEST_ANSWER = 16 * 1024 * 1024;

/**
 * Scrapes a kubelet. Rejects if it cannot be reached, if the status is not 200, or if the response is too large or too
 * slow; redirects are not followed.
 */
export async function scrapeKubelet(
  dialer: Dialer,
  target: DialTarget,
  answerTimeoutMs = ANSWER_TIMEOUT_MS,
): Promise<string> {
  const socket = await dialer.dial(target, DIAL_TIMEOUT_MS);
  const signal = AbortSignal.timeout(answerTimeoutMs);
  try {
    return await ask(socket, target, signal);
  } catch (error) {
    throw signal.aborted ? new Error(`no answer within ${answerTimeoutMs} ms`, { cause: error }) : error;
  } finally {
    socket.destroy();
  }
}

/** Sends the request. `signal` limits the whole request, even if the bytes arrive slowly. */
async function ask(socket: Duplex, { host, port }: DialTarget, signal: AbortSignal): Promise<string> {
  const headers = {
    host: `${host.includes(':') ? `[${host}]` : host}:${port}`,
    accept: 'text/plain',
    connection: 'close',
  };
  // Node's types require a socket, but any duplex stream works.
  const request = httpRequest({ method: 'GET', path: PATH, headers, createConnection: () => socket as never, signal });
  request.end();
  const answer = await answerTo(request);
  const text = await readText(answer as AsyncIterable<Buffer>, LONGEST_ANSWER, signal);
  if (text === undefined) throw new Error(`the answer is longer than ${LONGEST_ANSWER} bytes`);
  if (answer.statusCode !== 200) throw new Error(`request failed, status: "${answer.statusCode ?? 0}"`);
  return text;
}
