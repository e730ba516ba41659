import { FakeApiClient } from '../../src/api/client/testing/fake-api-client.ts';
import type { ApiClient, WatchEvent } from '../../src/api/client/api-client.ts';
import { pods } from '../../src/api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../src/api/client/resource-type.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import { ApiStatusError } from '../../src/api/status/api-status-error.ts';
import type { Clock } from '../../src/base/clock.ts';
import { KubeletError } from '../../src/base/errors.ts';
import type { Random } from '../../src/base/random.ts';
import { seededRandom } from '../../src/base/random.ts';
import type { ClusterApi } from '../../src/kubelet/ports/cluster-api.ts';
import type { Gate, Life } from './killable.ts';

/** An interruption of at least this length counts as an outage. */
const OUTAGE_MS = 5000;

/** A write of an agent to a pod object. */
export interface PodWrite {
  readonly verb: 'patch' | 'delete';
  readonly before: Pod;
  /** undefined when it was deleted. */
  readonly after: Pod | undefined;
}

/** An API server that outlives the agents, and the connection to it, which may be slow, interrupted or faulty. */
export class SimulatedApi {
  readonly server: FakeApiClient;
  /** Whether the server is unreachable. */
  isAway = false;
  /** Whether it accepts calls without answering them. */
  isSilent = false;
  /** The share of calls that fail, and the share of the failed calls that take effect anyway. */
  storm: { share: number; effective: number } = { share: 0, effective: 0 };
  onPodWrite: ((write: PodWrite) => void) | undefined;
  readonly #clock: Clock;
  readonly #random: Random;

  constructor(clock: Clock, seed: number) {
    this.#clock = clock;
    this.#random = seededRandom(seed * 31 + 7);
    this.server = new FakeApiClient({
      clock,
      random: seededRandom(seed * 17 + 3),
      watchLagMs: () => this.#random.next() * 20,
    });
  }

  /** Cuts all connections and refuses new ones. */
  goAway(): void {
    this.isAway = true;
    this.server.endWatches(new ApiStatusError('ServiceUnavailable', 'the API server is away'));
  }

  comeBack(): void {
    this.isAway = false;
  }

  /** The API server from the view of one agent process. */
  clusterOf(life: Life, gate: Gate): ClusterApi {
    const closed = Promise.withResolvers<never>();
    closed.promise.catch(() => undefined);
    const client = this.#clientOf(life, gate, closed.promise);
    return {
      heartbeat: client,
      status: client,
      objects: client,
      events: client,
      close: () => closed.reject(new ApiStatusError('ServiceUnavailable', 'the client was closed')),
    };
  }

  #clientOf(life: Life, gate: Gate, closed: Promise<never>): ApiClient {
    const reach = new Reach(this.#clock);
    const call = async <T>(verb: string, target: unknown, work: () => Promise<T>): Promise<T> =>
      reach.noted(() => this.isAway, Promise.race([closed, this.#call({ life, gate, verb, target }, work)]));
    const { server } = this;
    return {
      onReturn: (listener) => reach.onReturn(() => listener('answers')),
      get: (type, key, options) => call('get', key, () => server.get(type, key, options)),
      list: (type, namespace, options) => call('list', namespace, () => server.list(type, namespace, options)),
      watch: (type, namespace, options, signal) => this.#watch({ life, type, namespace, options, signal }),
      create: (type, object, options) => call('create', object, () => server.create(type, object, options)),
      update: (type, object, options) => call('update', object, () => server.update(type, object, options)),
      patch: (type, key, patch, options) =>
        call('patch', key, () => this.#noting(type, key, 'patch', () => server.patch(type, key, patch, options))),
      delete: (type, key, options) =>
        call('delete', key, () => this.#noting(type, key, 'delete', () => server.delete(type, key, options))),
      post: (type, key, subresource, body) => call('post', key, () => server.post(type, key, subresource, body)),
    };
  }

  async #noting<T>(
    type: ResourceType,
    key: { namespace: string; name: string },
    verb: 'patch' | 'delete',
    work: () => Promise<T>,
  ): Promise<T> {
    const before = type.plural === 'pods' ? this.server.peek(pods, key) : undefined;
    const result = await work();
    const after = this.server.peek(pods, key);
    if (before !== undefined)
      this.onPodWrite?.({ verb, before, after: after?.metadata.uid === before.metadata.uid ? after : undefined });
    return result;
  }

  async #call<T>(
    { life, gate, verb, target }: { life: Life; gate: Gate; verb: string; target: unknown },
    work: () => Promise<T>,
  ): Promise<T> {
    if (!life.alive) return await never();
    const death = gate('api', verb, target);
    if (death === 'before') life.end();
    await this.#travel();
    if (this.isSilent) return await never();
    // Sent before the end of its process it arrives all the same.
    if (death === 'before' || (!life.alive && this.#random.next() < 0.5)) return await never();
    if (this.isAway)
      return await this.#answer(life, () => Promise.reject(new KubeletError('Unavailable', 'connect ECONNREFUSED')));
    const fails = this.#random.next() < this.storm.share;
    if (fails && this.#random.next() >= this.storm.effective)
      return await this.#answer(life, () => Promise.reject(this.#anyRefusal()));
    const outcome = work().then(
      (value) => () =>
        fails ? Promise.reject(new KubeletError('Timeout', 'no answer in time')) : Promise.resolve(value),
      (error: unknown) => () => Promise.reject(error as Error),
    );
    const settle = await outcome;
    if (death !== undefined) life.end();
    await this.#travel();
    return await this.#answer(life, settle as () => Promise<T>);
  }

  async #answer<T>(life: Life, settle: () => Promise<T>): Promise<T> {
    return life.alive ? await settle() : await never();
  }

  #anyRefusal(): Error {
    const reasons = ['TooManyRequests', 'InternalError', 'ServiceUnavailable', 'Conflict', 'Timeout'] as const;
    return new ApiStatusError(reasons[Math.floor(this.#random.next() * reasons.length)] ?? 'InternalError', 'a storm');
  }

  async *#watch<T extends ApiObject>({
    life,
    type,
    namespace,
    options,
    signal,
  }: {
    life: Life;
    type: ResourceType<T>;
    namespace: string;
    options: object;
    signal: AbortSignal;
  }): AsyncGenerator<WatchEvent<T>> {
    await this.#travel();
    if (!life.alive) await never();
    if (this.isSilent) return await never();
    if (this.isAway) throw new KubeletError('Unavailable', 'connect ECONNREFUSED');
    if (this.#random.next() < this.storm.share) throw this.#anyRefusal();
    const ended = new AbortController();
    life.onEnd(() => ended.abort());
    for await (const event of this.server.watch(type, namespace, options, AbortSignal.any([signal, ended.signal]))) {
      if (!life.alive) await never();
      yield event;
    }
    if (!life.alive) await never();
  }

  #travel(): Promise<void> {
    return new Promise((resolve) => this.#clock.setTimer(1 + this.#random.next() * 8, resolve));
  }
}

/** As in the HTTP client: reports a response that follows after seconds without one. */
class Reach {
  readonly #clock: Clock;
  readonly #listeners = new Set<() => void>();
  #lostAtMs: number | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  onReturn(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  async noted<T>(isAway: () => boolean, call: Promise<T>): Promise<T> {
    try {
      return await call;
    } finally {
      if (isAway()) this.#lostAtMs ??= this.#clock.monotonicMs();
      else this.#answered();
    }
  }

  #answered(): void {
    const lostAtMs = this.#lostAtMs;
    this.#lostAtMs = undefined;
    if (lostAtMs !== undefined && this.#clock.monotonicMs() - lostAtMs >= OUTAGE_MS)
      for (const listener of [...this.#listeners]) listener();
  }
}

function never<T>(): Promise<T> {
  return new Promise<T>(() => undefined);
}
