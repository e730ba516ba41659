/** Asks the running agent over its root-only unix socket. */
import { request } from 'node:http';
import { createInterface } from 'node:readline';
import { KubeletError } from '../base/errors.ts';
import type { CauseView, PodView } from './progress.ts';

const ANSWER_TIMEOUT_MS = 5000;

/** `GET path`, parsed. Throws `Unavailable` while the agent does not listen. */
export function getJson(socketPath: string, path: string): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const fail = (cause: Error): void =>
      reject(
        new KubeletError('Unavailable', `the agent does not answer ${path}: ${cause.message}`, { op: path, cause }),
      );
    const call = request({ socketPath, path, timeout: ANSWER_TIMEOUT_MS }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (text: string) => (body += text));
      answer.on('error', fail);
      answer.on('end', () => {
        try {
          if (answer.statusCode !== 200) throw new Error(`status ${answer.statusCode}: ${body.slice(0, 200)}`);
          resolve(JSON.parse(body));
        } catch (error) {
          fail(error as Error);
        }
      });
    });
    call.on('timeout', () => call.destroy(new Error('no answer in time')));
    call.on('error', fail);
    call.end();
  });
}

export async function getPods(socketPath: string): Promise<PodView[]> {
  const list = (await getJson(socketPath, '/pods')) as { items?: PodView[] | null };
  return list.items ?? [];
}

/** What keeps pods from being settled. An agent that cannot say leaves the table without causes, not without pods. */
export async function getCauses(socketPath: string): Promise<CauseView[]> {
  const answer = await getJson(socketPath, '/explain').catch(() => []);
  return Array.isArray(answer) ? (answer as CauseView[]) : [];
}

/** Calls `onChange` for every line the agent sends (what changed is read anew), until the connection ends or `signal` aborts. Resolves in both cases. */
export function watchPods(socketPath: string, onChange: () => void, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const call = request({ socketPath, path: '/api/watch', signal }, (answer) => {
      onChange();
      const lines = createInterface({ input: answer });
      lines.on('line', onChange);
      lines.on('error', () => resolve());
      answer.on('error', () => resolve());
      answer.on('close', () => resolve());
    });
    call.on('error', () => resolve());
    call.end();
  });
}
