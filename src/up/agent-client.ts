/** Asks the running agent over its root-only unix socket. */
import { request } from 'node:http';
import { KubeletError } from '../base/errors.ts';
import { answerTo } from '../base/node-answer.ts';
import { readText } from '../base/read-text.ts';
import type { CauseView, PodView } from './progress.ts';

const ANSWER_TIMEOUT_MS = 5000;
const LONGEST_ANSWER = 32 * 1024 * 1024;

/** `GET path`, parsed. Throws `Unavailable` while the agent does not listen. */
export async function getJson(socketPath: string, path: string, limitMs = ANSWER_TIMEOUT_MS): Promise<unknown> {
  const signal = AbortSignal.timeout(limitMs);
  try {
    const call = request({ socketPath, path, signal });
    call.end();
    const answer = await answerTo(call);
    const text = await readText(answer as AsyncIterable<Buffer>, LONGEST_ANSWER, signal);
    if (text === undefined) throw new Error(`the answer is longer than ${LONGEST_ANSWER} bytes`);
    if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}: ${text.slice(0, 200)}`);
    return JSON.parse(text) as unknown;
  } catch (cause) {
    const why = signal.aborted ? 'no answer in time' : (cause as Error).message;
    throw new KubeletError('Unavailable', `the agent does not answer ${path}: ${why}`, { op: path, cause });
  }
}

export async function getPods(socketPath: string): Promise<PodView[]> {
  const list = (await getJson(socketPath, '/pods')) as { items?: PodView[] | null };
  return list.items ?? [];
}

/**
 * The causes for which pods are not settled. If the agent cannot provide them, the table has no causes but still lists
 * the pods.
 */
export async function getCauses(socketPath: string): Promise<CauseView[]> {
  const answer = await getJson(socketPath, '/explain').catch(() => []);
  return Array.isArray(answer) ? (answer as CauseView[]) : [];
}

/**
 * Calls `onChange` whenever the agent sends something (what changed is read again), until the connection ends or
 * `signal` aborts. Resolves in both cases.
 */
export async function watchPods(socketPath: string, onChange: () => void, signal: AbortSignal): Promise<void> {
  try {
    const call = request({ socketPath, path: '/api/watch', signal });
    call.end();
    const answer = await answerTo(call);
    onChange();
    for await (const chunk of answer as AsyncIterable<Buffer>) if (chunk.length > 0) onChange();
  } catch {
    // Whatever ended the connection: the caller checks again and opens another one, as after an end without an error.
    return;
  }
}
