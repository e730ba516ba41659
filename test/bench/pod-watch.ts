/** Follows the agent's stream of pod changes, and returns when a pod reached an expected state. */
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';

export interface ContainerStatusView {
  readonly containerID?: string;
  readonly restartCount?: number;
  readonly state?: {
    running?: { startedAt?: string };
    terminated?: { exitCode?: number };
    waiting?: { reason?: string; message?: string };
  };
}

export interface PodStatusView {
  readonly metadata: { name: string; namespace: string; uid: string };
  readonly status?: {
    phase?: string;
    conditions?: { type: string; status: string; lastTransitionTime?: string }[];
    containerStatuses?: ContainerStatusView[];
  };
}

export interface Change {
  readonly type: 'MODIFIED' | 'DELETED';
  readonly pod: PodStatusView;
  /** The monotonic time at which the line was received. */
  readonly atMs: number;
}

interface Waiter {
  readonly pod: string;
  readonly accept: (change: Change) => boolean;
  readonly resolve: (change: Change) => void;
  readonly reject: (error: Error) => void;
}

export const isReady = (pod: PodStatusView): boolean =>
  pod.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;

export class PodWatch {
  readonly #latest = new Map<string, Change>();
  readonly #waiters = new Set<Waiter>();
  readonly #answer: IncomingMessage;
  #rest = '';
  #closed = false;

  private constructor(answer: IncomingMessage) {
    this.#answer = answer;
    answer.setEncoding('utf8').on('data', (text: string) => this.#take(text));
    const end = (): void => this.#fail(new Error("the agent's stream of changes ended"));
    answer.on('error', end).on('close', end);
  }

  static open(socketPath: string): Promise<PodWatch> {
    return new Promise((resolve, reject) => {
      const call = request({ socketPath, path: '/api/watch' }, (answer) => {
        if (answer.statusCode === 200) resolve(new PodWatch(answer));
        else reject(new Error(`/api/watch answered ${answer.statusCode}`));
      });
      call.on('error', reject);
      call.end();
    });
  }

  /** The first line about `pod` that is accepted: the latest known one or a later one. */
  until(pod: string, accept: (change: Change) => boolean, timeoutMs: number): Promise<Change> {
    const known = this.#latest.get(pod);
    if (known !== undefined && accept(known)) return Promise.resolve(known);
    return new Promise((resolve, reject) => {
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          then(value);
        };
      const waiter: Waiter = { pod, accept, resolve: settle(resolve), reject: settle(reject) };
      const timer = setTimeout(
        () =>
          waiter.reject(
            new Error(
              `pod ${pod} did not come to be as wanted within ${timeoutMs / 1000} s; last seen: ${JSON.stringify(this.#latest.get(pod) ?? 'nothing').slice(0, 1500)}`,
            ),
          ),
        timeoutMs,
      );
      this.#waiters.add(waiter);
      if (this.#closed) waiter.reject(new Error("the agent's stream of changes ended"));
    });
  }

  async ready(pod: string, timeoutMs = 60_000): Promise<Change> {
    return this.until(pod, ({ type, pod: seen }) => type !== 'DELETED' && isReady(seen), timeoutMs);
  }

  async deleted(pod: string, timeoutMs = 60_000): Promise<Change> {
    return this.until(pod, ({ type }) => type === 'DELETED', timeoutMs);
  }

  close(): void {
    this.#closed = true;
    this.#answer.destroy();
  }

  #take(text: string): void {
    const atMs = performance.now();
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines.filter((candidate) => candidate !== '')) {
      const change: Change = { ...(JSON.parse(line) as Omit<Change, 'atMs'>), atMs };
      const { name } = change.pod.metadata;
      this.#latest.set(name, change);
      for (const waiter of this.#waiters) if (waiter.pod === name && waiter.accept(change)) waiter.resolve(change);
    }
  }

  #fail(error: Error): void {
    this.#closed = true;
    for (const waiter of this.#waiters) waiter.reject(error);
  }
}
