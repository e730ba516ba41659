import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { Agent as SecureAgent, request as httpsRequest } from 'node:https';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import { answerTo } from '../../base/node-answer.ts';
import { parseJsonQuietly } from '../../base/quiet-parse.ts';
import { readText } from '../../base/read-text.ts';
import type { AskExtender, ExtenderTls } from '../scheduler/framework/extender.ts';

/**
 * As much JSON as is parsed in less than 100 ms of the event loop. Names are enough for extenders of large clusters
 * (`nodeCacheCapable`).
 */
const LONGEST_ANSWER_BYTES = 10 << 20;
const SHOWN_CHARACTERS = 200;

/** One for each set of credentials; those of an extender stay the same object. */
const secureAgents = new WeakMap<ExtenderTls, SecureAgent>();

/**
 * Over HTTP, each question on a connection of its own: a kept one may end just when it is used, and a bind must not be
 * sent twice. No redirects are followed. The time includes connecting and the whole answer.
 */
export const askExtender: AskExtender = async ({ url, tls, body, timeoutMs, signal }) => {
  const timeout = AbortSignal.timeout(timeoutMs);
  const either = AbortSignal.any([timeout, signal]);
  try {
    const isSecure = url.startsWith('https:');
    const length = body.reduce((bytes, piece) => bytes + Buffer.byteLength(piece), 0);
    const options = {
      method: 'POST',
      signal: either,
      headers: { 'content-type': 'application/json', accept: 'application/json', 'content-length': length },
    };
    const request = isSecure ? httpsRequest(url, { ...options, agent: secureAgentOf(tls) }) : httpRequest(url, options);
    for (const piece of body) request.write(piece);
    request.end();
    const answer = await answerTo(request);
    const text = await readText(answer as AsyncIterable<Buffer>, LONGEST_ANSWER_BYTES, either);
    if (answer.statusCode !== 200)
      throw new KubeletError('Unavailable', `${url} answered with status ${answer.statusCode ?? 0}: ${shown(text)}`);
    if (text === undefined)
      throw new KubeletError(
        'Invalid',
        `the answer of ${url} is longer than ${LONGEST_ANSWER_BYTES} bytes; with nodeCacheCapable: true names are enough`,
      );
    return text.trim() === '' ? undefined : parseJsonQuietly(text);
  } catch (error) {
    if (error instanceof KubeletError) throw error;
    if (timeout.aborted)
      throw new KubeletError('Timeout', `${url} did not answer within ${timeoutMs} ms`, { cause: error });
    throw new KubeletError('Unavailable', `${url}: ${errorMessage(error)}`, { cause: error });
  }
};

const shown = (text: string | undefined): string => (text ?? '').slice(0, SHOWN_CHARACTERS).replaceAll(/\s+/g, ' ');

/** Files are read once: the agent keeps what they said. */
function secureAgentOf(tls: ExtenderTls): SecureAgent {
  let agent = secureAgents.get(tls);
  if (agent === undefined) {
    const { insecure, serverName, caFile, certFile, keyFile, caPem, certPem, keyPem } = tls;
    const [ca, cert, key] = [pem(caPem, caFile), pem(certPem, certFile), pem(keyPem, keyFile)];
    agent = new SecureAgent({
      rejectUnauthorized: !insecure,
      ...(serverName !== undefined && { servername: serverName }),
      ...(ca !== undefined && { ca }),
      ...(cert !== undefined && { cert }),
      ...(key !== undefined && { key }),
    });
    secureAgents.set(tls, agent);
  }
  return agent;
}

const pem = (text: string | undefined, file: string | undefined): string | undefined =>
  text ?? (file === undefined ? undefined : readFileSync(file, 'utf8'));
