/**
 * Creates and deletes pods through the API, and measures when a watch reports the expected state, as a client of the
 * cluster would see it.
 */
import { nodes, pods } from '../../../src/api/client/resource-types.ts';
import type { Probe } from '../../../src/api/core/probe.ts';
import type { Pod } from '../../../src/api/core/pod.ts';
import type { HttpApiClient } from '../../../src/client/http-api-client.ts';
import { WEB_IMAGE } from '../../../src/up/images/catalogue.ts';
import { waitUntil } from '../../../src/up/processes.ts';
import { COMMAND } from '../raw-pod.ts';

const NAMESPACE = 'default';

export interface Change {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED';
  readonly pod: Pod;
  /** The monotonic time at which the event was received. */
  readonly atMs: number;
}

interface Waiter {
  readonly accept: (change: Change) => boolean;
  readonly resolve: (change: Change) => void;
  readonly reject: (error: Error) => void;
}

export const isReady = ({ type, pod: { status } }: Change): boolean =>
  type !== 'DELETED' &&
  status?.conditions?.some((condition) => condition.type === 'Ready' && condition.status === 'True') === true;

export class PodBoard {
  readonly #client: HttpApiClient;
  readonly #nodeName: string;
  readonly #latest = new Map<string, Change>();
  readonly #waiters = new Map<string, Set<Waiter>>();
  readonly #ended = new AbortController();
  /** The number of pod events so far. */
  events = 0;

  constructor(client: HttpApiClient, nodeName: string) {
    this.#client = client;
    this.#nodeName = nodeName;
    void this.#follow();
  }

  /** Creates all pods as fast as the API accepts them, and returns the time of the first request. */
  async create(names: readonly string[], restartPolicy: 'Always' | 'Never' = 'Always'): Promise<number> {
    const atMs = performance.now();
    await Promise.all(names.map((name) => this.#client.create(pods, this.#pod(name, restartPolicy))));
    return atMs;
  }

  /** Creates one pod of a service; the benchmark itself answers its readiness probe. */
  async createServing(name: string, readinessProbe: Probe): Promise<void> {
    const pod = this.#pod(name, 'Always');
    const containers = pod.spec.containers.map((container) => ({ ...container, readinessProbe }));
    const metadata = { ...pod.metadata, labels: { serving: name } };
    await this.#client.create(pods, { ...pod, metadata, spec: { ...pod.spec, containers } });
  }

  /** Deletes pods gracefully and returns the time of the first request. */
  async delete(names: readonly string[]): Promise<number> {
    const atMs = performance.now();
    await Promise.all(names.map((name) => this.#client.delete(pods, { namespace: NAMESPACE, name })));
    return atMs;
  }

  /** The first event of the pod that `accept` accepts: the latest known one or a later one. */
  until(name: string, accept: (change: Change) => boolean, timeoutMs = 60_000): Promise<Change> {
    const known = this.#latest.get(name);
    if (known !== undefined && accept(known)) return Promise.resolve(known);
    const waiters = this.#waiters.get(name) ?? new Set();
    this.#waiters.set(name, waiters);
    return new Promise((resolve, reject) => {
      const settle =
        <T>(then: (value: T) => void) =>
        (value: T): void => {
          clearTimeout(timer);
          waiters.delete(waiter);
          then(value);
        };
      const waiter: Waiter = { accept, resolve: settle(resolve), reject: settle(reject) };
      const timer = setTimeout(
        () =>
          waiter.reject(
            new Error(
              `pod ${name} did not come to be as wanted within ${timeoutMs / 1000} s; last seen: ${JSON.stringify(this.#latest.get(name) ?? 'nothing').slice(0, 2500)}`,
            ),
          ),
        timeoutMs,
      );
      waiters.add(waiter);
    });
  }

  ready(name: string, timeoutMs?: number): Promise<Change> {
    return this.until(name, isReady, timeoutMs);
  }

  deleted(name: string, timeoutMs?: number): Promise<Change> {
    return this.until(name, ({ type }) => type === 'DELETED', timeoutMs);
  }

  async nodeReady(timeoutMs: number): Promise<boolean> {
    return waitUntil(
      async () => {
        const node = await this.#client.get(nodes, { namespace: '', name: this.#nodeName }).catch(() => undefined);
        return node?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') === true;
      },
      timeoutMs,
      100,
    );
  }

  /** Deletes the remaining objects of this benchmark, without waiting for the node, and then the node. */
  async clear(): Promise<void> {
    this.#ended.abort();
    const { items } = await this.#client.list(pods, NAMESPACE, { fieldSelector: `spec.nodeName=${this.#nodeName}` });
    await Promise.allSettled(
      items.map(({ metadata: { name } }) =>
        this.#client.delete(pods, { namespace: NAMESPACE, name }, { gracePeriodSeconds: 0 }),
      ),
    );
    await this.#client.delete(nodes, { namespace: '', name: this.#nodeName }).catch(() => undefined);
  }

  /** Continues a watch that the server ended, which servers do from time to time. */
  async #follow(): Promise<void> {
    const { signal } = this.#ended;
    let resourceVersion: string | undefined;
    try {
      while (!signal.aborted) {
        const options = {
          fieldSelector: `spec.nodeName=${this.#nodeName}`,
          ...(resourceVersion !== undefined && { resourceVersion }),
        };
        for await (const event of this.#client.watch(pods, NAMESPACE, options, signal)) {
          if (event.type === 'ERROR') throw event.error;
          if (event.type === 'BOOKMARK') continue;
          resourceVersion = event.object.metadata.resourceVersion;
          this.#take({ type: event.type, pod: event.object, atMs: performance.now() });
        }
      }
    } catch (cause) {
      if (!signal.aborted)
        for (const waiters of this.#waiters.values())
          for (const waiter of waiters) waiter.reject(new Error(`the watch of pods ended: ${String(cause)}`));
    }
  }

  #take(change: Change): void {
    this.events += 1;
    const { name } = change.pod.metadata;
    this.#latest.set(name, change);
    for (const waiter of this.#waiters.get(name) ?? []) if (waiter.accept(change)) waiter.resolve(change);
  }

  #pod(name: string, restartPolicy: string): Pod {
    const main = { name: 'main', image: WEB_IMAGE, imagePullPolicy: 'IfNotPresent', command: COMMAND };
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name, namespace: NAMESPACE, labels: { app: 'bench' } },
      spec: { nodeName: this.#nodeName, restartPolicy, containers: [main] },
    } as unknown as Pod;
  }
}
