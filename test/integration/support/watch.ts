// What the agent reports about its pods: the latest state of each, all reports so far, and waiting for an expected
// state.
import type { IncomingMessage } from 'node:http';
import { request } from 'node:http';
import type { Pod } from '../../../src/api/core/pod.ts';
import type { ContainerStatus } from '../../../src/api/core/pod-status.ts';

export interface Change {
  readonly type: 'MODIFIED' | 'DELETED';
  readonly pod: Pod;
}

interface Waiter {
  readonly pod: string;
  readonly accept: (change: Change) => boolean;
  readonly resolve: (change: Change) => void;
}

/** Follows `/api/watch` over any number of agent runs; waiting calls continue while the agent does not run. */
export class PodWatch {
  /** All lines of all runs, in order. */
  readonly history: Change[] = [];
  readonly #latest = new Map<string, Change>();
  readonly #waiters = new Set<Waiter>();
  #answer: IncomingMessage | undefined;
  #rest = '';

  /** Connects to an agent that was just started. */
  open(socketPath: string): Promise<void> {
    this.close();
    return new Promise((resolve, reject) => {
      const call = request({ socketPath, path: '/api/watch' }, (answer) => {
        if (answer.statusCode !== 200) return reject(new Error(`/api/watch answered ${answer.statusCode}`));
        this.#answer = answer;
        this.#rest = '';
        // What an earlier run said last is no news of this one.
        this.#latest.clear();
        answer.setEncoding('utf8').on('data', (text: string) => this.#take(text));
        // Many tests kill the agent at any time. Waiting calls end at their own deadline.
        answer.on('error', () => undefined);
        resolve();
      });
      call.on('error', reject);
      call.end();
    });
  }

  close(): void {
    this.#answer?.destroy();
    this.#answer = undefined;
  }

  latest(pod: string): Change | undefined {
    return this.#latest.get(pod);
  }

  /**
   * The first line about `pod` that is accepted: the latest known one or a later one; undefined after the time limit.
   */
  until(pod: string, accept: (change: Change) => boolean, timeoutMs: number): Promise<Change | undefined> {
    const known = this.#latest.get(pod);
    if (known !== undefined && accept(known)) return Promise.resolve(known);
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiters.delete(waiter);
        resolve(undefined);
      }, timeoutMs);
      const waiter: Waiter = {
        pod,
        accept,
        resolve: (change) => {
          clearTimeout(timer);
          this.#waiters.delete(waiter);
          resolve(change);
        },
      };
      this.#waiters.add(waiter);
    });
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    for (const line of lines.filter((candidate) => candidate !== '')) {
      const change = JSON.parse(line) as Change;
      const { name } = change.pod.metadata;
      this.history.push(change);
      this.#latest.set(name, change);
      for (const waiter of this.#waiters) if (waiter.pod === name && waiter.accept(change)) waiter.resolve(change);
    }
  }
}

export const isReady = (pod: Pod): boolean => conditionOf(pod, 'Ready') === 'True';

export const conditionOf = (pod: Pod, type: string): string | undefined =>
  pod.status?.conditions?.find((condition) => condition.type === type)?.status;

/** The status of a container of any kind; an empty one until the agent reports it. */
export function containerOf(pod: Pod, name?: string): ContainerStatus {
  const all = [
    ...(pod.status?.initContainerStatuses ?? []),
    ...(pod.status?.containerStatuses ?? []),
    ...(pod.status?.ephemeralContainerStatuses ?? []),
  ];
  const found =
    name === undefined ? pod.status?.containerStatuses?.[0] : all.find((container) => container.name === name);
  return found ?? { name: name ?? '', ready: false, restartCount: 0, image: '', imageID: '' };
}

/** The runtime's id, without `containerd://`. */
export const containerId = (pod: Pod, name?: string): string =>
  (containerOf(pod, name).containerID ?? '').replace(/^[^:]*:\/\//, '');
