import { inBackground } from '../../base/background.ts';
import type { Clock, Timer } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { createLimiter } from '../../base/limiter.ts';
import { createLoop } from '../../base/loop.ts';
import type { Loop } from '../../base/loop.ts';
import type { Random } from '../../base/random.ts';
import type { ApiClient } from '../../api/client/api-client.ts';
import { createInformer } from '../../api/client/informer.ts';
import { formatKey, keyOf } from '../../api/client/resource-type.ts';
import { leases, nodes, pods } from '../../api/client/resource-types.ts';
import { isConditionTrue } from '../../api/conditions.ts';
import type { Lease } from '../../api/coordination/lease.ts';
import type { Pod } from '../../api/core/pod.ts';
import { isApiError } from '../../api/status/api-status-error.ts';
import { formatMicroTime } from '../../api/time.ts';
import { RateLimitingQueue } from '../controller-runtime/rate-limiting-queue.ts';
import { endedStatus, fakeLife, fakeNode, readyConditions, runningStatus } from './fake-status.ts';
import type { FakeNodeShape } from './fake-status.ts';

export interface FakeNodesOptions {
  readonly client: ApiClient;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly count: number;
  /** Names are `PREFIX-0`, `PREFIX-1`, ... */
  readonly prefix: string;
  readonly shape: FakeNodeShape;
  /** The time between two renewals of a node's lease. Kubelets renew it every 10 s. */
  readonly leaseMs: number;
  /** The time from bound to running, and from the requested to the actual deletion. */
  readonly reactMs: number;
}

export interface FakeNodes {
  /** Resolves when all nodes are registered. */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Simulates a power failure: the node sends nothing any more. */
  silence(name: string): void;
  revive(name: string): void;
}

const LEASE_SECONDS = 40;
const LEASE_NAMESPACE = 'kube-node-lease';
const POD_WORKERS = 64;
const REGISTERED_AT_ONCE = 16;
/** The number of groups in which nodes renew their leases. */
const LEASE_GROUPS = 50;

/** Creates nodes that report pods as running without running them, to test control planes without machines. */
export function createFakeNodes(options: FakeNodesOptions): FakeNodes {
  return new FakeKubelets(options);
}

class FakeKubelets implements FakeNodes {
  readonly #options: FakeNodesOptions;
  readonly #names: readonly string[];
  readonly #indexes: ReadonlyMap<string, number>;
  readonly #silent = new Set<string>();
  readonly #informer;
  readonly #queue: RateLimitingQueue;
  readonly #heartbeat: Loop;
  readonly #timers = new Set<Timer>();
  readonly #addresses = new Map<string, number>();
  readonly #sinceMs: number;
  readonly #groups: number;
  #nextGroup = 0;
  readonly #renewing = new Set<string>();
  /** The lease of each node as last written. */
  readonly #leases = new Map<string, Lease>();
  /** The monotonic time when each node last renewed its lease. */
  readonly #renewedAtMs = new Map<string, number>();

  constructor(options: FakeNodesOptions) {
    this.#options = options;
    const { client, clock, random, log } = options;
    this.#names = Array.from({ length: options.count }, (_, index) => `${options.prefix}-${index}`);
    this.#indexes = new Map(this.#names.map((name, index) => [name, index]));
    this.#groups = Math.min(LEASE_GROUPS, options.count);
    this.#sinceMs = clock.nowMs();
    this.#informer = createInformer({
      client,
      clock,
      random,
      log,
      type: pods,
      namespace: '',
      fieldSelector: 'spec.nodeName!=',
    });
    this.#queue = new RateLimitingQueue({
      name: 'fake-nodes',
      clock,
      log,
      workers: POD_WORKERS,
      sync: (key) => this.#sync(key),
    });
    const wake = (pod: Pod): void => this.#queue.addAfter(formatKey(keyOf(pod)), options.reactMs);
    this.#informer.addHandlers({
      onAdd: wake,
      onUpdate: (_, pod) => wake(pod),
      onDelete: (pod) => void this.#addresses.delete(pod.metadata.uid),
    });
    this.#heartbeat = createLoop({
      name: 'fake heartbeats',
      clock,
      random,
      log,
      periodMs: Math.ceil(options.leaseMs / this.#groups),
      pass: () => this.#beat(),
    });
  }

  async start(): Promise<void> {
    const { client, shape, clock } = this.#options;
    const register = async (name: string, index: number): Promise<void> => {
      try {
        await client.create(nodes, fakeNode(name, index, shape, clock.nowMs()));
      } catch (error) {
        if (!isApiError(error, 'AlreadyExists')) throw error;
        await this.#report(name);
      }
    };
    const limit = createLimiter(REGISTERED_AT_ONCE);
    await Promise.all(this.#names.map((name, index) => limit(() => register(name, index))));
    this.#heartbeat.start();
    this.#informer.start();
    await this.#informer.whenSynced();
    this.#queue.start();
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) timer.cancel();
    await this.#heartbeat.stop();
    await this.#queue.stop();
    await this.#informer.stop();
  }

  silence(name: string): void {
    this.#silent.add(name);
  }

  revive(name: string): void {
    this.#silent.delete(name);
    inBackground(this.#options.log, 'revive a fake node', this.#comeBack(name));
  }

  /**
   * Renews the leases of one group after another, because a thousand requests at once would delay all others. A group
   * does not wait for the previous one, because on a slow server all would be late.
   */
  async #beat(): Promise<void> {
    const group = this.#nextGroup;
    this.#nextGroup = (group + 1) % this.#groups;
    for (const [index, name] of this.#names.entries()) {
      if (index % this.#groups !== group || this.#silent.has(name) || this.#renewing.has(name)) continue;
      this.#renewing.add(name);
      const renewing = this.#renew(name).finally(() => this.#renewing.delete(name));
      inBackground(this.#options.log, 'renew the lease of a fake node', renewing);
    }
  }

  async #renew(name: string): Promise<void> {
    const { clock } = this.#options;
    try {
      this.#leases.set(name, await this.#writeLease(name));
    } catch (error) {
      this.#leases.delete(name);
      // Another process wrote or deleted it, so it is read again.
      if (!isApiError(error, 'Conflict', 'NotFound')) throw error;
      this.#leases.set(name, await this.#writeLease(name));
    }
    const nowMs = clock.monotonicMs();
    const lastMs = this.#renewedAtMs.get(name) ?? nowMs;
    this.#renewedAtMs.set(name, nowMs);
    // The server took it for lost meanwhile.
    if (nowMs - lastMs >= LEASE_SECONDS * 1000) await this.#comeBack(name);
  }

  /** Updates the lease that the last renewal returned, as a kubelet does. */
  async #writeLease(name: string): Promise<Lease> {
    const { client, clock } = this.#options;
    const renewTime = formatMicroTime(clock.nowMs());
    const spec = { holderIdentity: name, leaseDurationSeconds: LEASE_SECONDS, renewTime };
    const lease = this.#leases.get(name) ?? (await this.#readLease(name));
    return lease === undefined
      ? client.create(leases, { metadata: { name, namespace: LEASE_NAMESPACE, uid: '' }, spec })
      : client.update(leases, { ...lease, spec });
  }

  async #readLease(name: string): Promise<Lease | undefined> {
    try {
      return await this.#options.client.get(leases, { namespace: LEASE_NAMESPACE, name });
    } catch (error) {
      if (isApiError(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  /** Reports again that the node and its pods are ready, as a kubelet does. */
  async #comeBack(name: string): Promise<void> {
    await this.#report(name);
    for (const pod of this.#informer.list()) if (pod.spec.nodeName === name) this.#queue.add(formatKey(keyOf(pod)));
  }

  async #report(name: string): Promise<void> {
    const { client, clock } = this.#options;
    await client.patch(
      nodes,
      { namespace: '', name },
      { type: 'strategic', body: { status: { conditions: readyConditions(this.#sinceMs, clock.nowMs()) } } },
      { subresource: 'status' },
    );
  }

  async #sync(key: string): Promise<void> {
    const { client, clock } = this.#options;
    const pod = this.#informer.getByKey(key);
    const index = this.#indexes.get(pod?.spec.nodeName ?? '');
    if (pod === undefined || index === undefined || this.#silent.has(pod.spec.nodeName ?? '')) return;
    try {
      if (pod.metadata.deletionTimestamp !== undefined) {
        await client.delete(pods, keyOf(pod), { gracePeriodSeconds: 0, preconditions: { uid: pod.metadata.uid } });
        return;
      }
      const phase = pod.status?.phase ?? 'Pending';
      const { runMs, exitCode, ready } = fakeLife(pod);
      const addresses = { hostIp: `172.31.${index >> 8}.${index & 255}`, podIp: this.#addressOf(pod, index) };
      if (phase === 'Pending') {
        await this.#write(pod, { ...pod, status: runningStatus(pod, addresses, clock.nowMs()) });
        if (runMs !== undefined) this.#later(runMs, key);
      } else if (phase === 'Running' && ready && !isConditionTrue(pod.status?.conditions, 'Ready')) {
        // It was marked as not ready while its node was silent.
        const { conditions = [] } = runningStatus(pod, addresses, clock.nowMs());
        await this.#write(pod, { ...pod, status: { conditions } });
      } else if (phase === 'Running' && runMs !== undefined) {
        const leftMs = Date.parse(pod.status?.startTime ?? '') + runMs - clock.nowMs();
        if (leftMs > 0) this.#later(leftMs, key);
        else await this.#write(pod, { ...pod, status: endedStatus(pod, exitCode, clock.nowMs()) });
      }
    } catch (error) {
      // The node was deleted or replaced, and the event follows.
      if (!isApiError(error, 'NotFound', 'Conflict')) throw error;
    }
  }

  async #write(pod: Pod, changed: Pod): Promise<void> {
    await this.#options.client.patch(
      pods,
      keyOf(pod),
      { type: 'strategic', body: { metadata: { uid: pod.metadata.uid }, status: changed.status ?? {} } },
      { subresource: 'status' },
    );
  }

  #later(delayMs: number, key: string): void {
    const timer = this.#options.clock.setTimer(delayMs, () => {
      this.#timers.delete(timer);
      this.#queue.add(key);
    });
    this.#timers.add(timer);
  }

  /** Pod addresses in the order of arrival; they may be reused. */
  #addressOf(pod: Pod, index: number): string {
    let host = this.#addresses.get(pod.metadata.uid);
    if (host === undefined) this.#addresses.set(pod.metadata.uid, (host = (this.#addresses.size % 250) + 2));
    return `10.${64 + (index >> 8)}.${index & 255}.${host}`;
  }
}
