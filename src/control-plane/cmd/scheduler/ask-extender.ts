import { readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { Agent as SecureAgent, request as httpsRequest } from 'node:https';
import { measureJson } from '../../../api/measure-json.ts';
import { objectLimits } from '../../../api/object-limits.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { answerTo } from '../../../base/node-answer.ts';
import { parseJsonQuietly } from '../../../base/quiet-parse.ts';
import { nextTurn } from '../../../base/turn.ts';
import { readText } from '../../../base/read-text.ts';
import type { AskExtender, ExtenderTls } from '../../scheduler/framework/extender.ts';

/**
 * The size limit of an answer. JSON of this size is parsed in less than 100 ms: about a thousand complete nodes.
 * Extenders of large clusters exchange only names (`nodeCacheCapable`).
 */
const LONGEST_ANSWER_BYTES = 10 << 20;
const MOST_ANSWER_VALUES = 400_000;
/** The amount that is encoded or written in one turn of the event loop. */
const TURN_CHARACTERS = 1 << 20;
const SHOWN_CHARACTERS = 200;

/** One agent per credentials object; an extender always uses the same object. */
const secureAgents = new WeakMap<ExtenderTls, SecureAgent>();

/**
 * Calls an extender over HTTP, each time on a new connection: a kept connection may close just when it is used, and a
 * bind must not be sent twice. Redirects are not followed. The timeout includes connecting and the whole response.
 */
export const askExtender: AskExtender = async ({ url, tls, body, timeoutMs, signal }) => {
  const timeout = AbortSignal.timeout(timeoutMs);
  const either = AbortSignal.any([timeout, signal]);
  try {
    const isSecure = url.startsWith('https:');
    const chunks = await encode(body);
    const length = chunks.reduce((bytes, chunk) => bytes + chunk.length, 0);
    const options = {
      method: 'POST',
      signal: either,
      headers: { 'content-type': 'application/json', accept: 'application/json', 'content-length': length },
    };
    const request = isSecure ? httpsRequest(url, { ...options, agent: secureAgentOf(tls) }) : httpRequest(url, options);
    const answered = answerTo(request);
    // The connection may fail while the request is still being sent.
    answered.catch(() => {});
    for (const chunk of chunks) {
      request.write(chunk);
      await nextTurn();
      if (request.destroyed) break;
    }
    request.end();
    const answer = await answered;
    const text = await readText(answer as AsyncIterable<Buffer>, LONGEST_ANSWER_BYTES, either);
    if (answer.statusCode !== 200)
      throw new KubeletError('Unavailable', `${url} answered with status ${answer.statusCode ?? 0}: ${shown(text)}`);
    if (text === undefined)
      throw new KubeletError(
        'Invalid',
        `the answer of ${url} is longer than ${LONGEST_ANSWER_BYTES} bytes; with nodeCacheCapable: true names are enough`,
      );
    return text.trim() === '' ? undefined : await parse(url, text);
  } catch (error) {
    if (error instanceof KubeletError) throw error;
    if (timeout.aborted)
      throw new KubeletError('Timeout', `${url} did not answer within ${timeoutMs} ms`, { cause: error });
    throw new KubeletError('Unavailable', `${url}: ${errorMessage(error)}`, { cause: error });
  }
};

/** Joins pieces to chunks, because each write to a connection has a cost. */
async function encode(pieces: readonly string[]): Promise<readonly Buffer[]> {
  const chunks: Buffer[] = [];
  let gathered: string[] = [];
  let characters = 0;
  for (const piece of pieces) {
    gathered.push(piece);
    characters += piece.length;
    if (characters < TURN_CHARACTERS) continue;
    chunks.push(Buffer.from(gathered.join(''), 'utf8'));
    [gathered, characters] = [[], 0];
    await nextTurn();
  }
  chunks.push(Buffer.from(gathered.join(''), 'utf8'));
  return chunks;
}

async function parse(url: string, text: string): Promise<unknown> {
  await nextTurn();
  const { values, depth } = measureJson(Buffer.from(text), MOST_ANSWER_VALUES);
  if (values > MOST_ANSWER_VALUES || depth > objectLimits.depth)
    throw new KubeletError(
      'Invalid',
      `the answer of ${url} has more than ${MOST_ANSWER_VALUES} values, or is nested deeper than ${objectLimits.depth}; with nodeCacheCapable: true names are enough`,
    );
  await nextTurn();
  return parseJsonQuietly(text);
}

const shown = (text: string | undefined): string => (text ?? '').slice(0, SHOWN_CHARACTERS).replaceAll(/\s+/g, ' ');

/** Files are read once; the agent keeps their content. */
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
