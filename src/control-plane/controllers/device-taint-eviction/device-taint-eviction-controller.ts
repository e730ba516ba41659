import type { Informer } from '../../../api/client/informer.ts';
import type { ObjectIndex } from '../../../api/client/object-store.ts';
import { formatKey, keyOf } from '../../../api/client/resource-type.ts';
import { pods, resourceClaims, resourceSlices } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { resourceClaimNames } from '../../../api/resource/pod-claims.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { deleteDisrupted } from '../../controller-runtime/disruption-target.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import type { EventRecorder } from '../../controller-runtime/event-recorder.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { claimsInUse, planDeviceEviction, poolKey } from './plan-device-eviction.ts';

/** The number of concurrent syncs (upstream: defaultConcurrentSyncs of the controller). */
const WORKERS = 10;

/**
 * Deletes pods whose claims have devices with NoExecute taints that the claims do not tolerate, or no longer (upstream:
 * device-taint-eviction-controller). Each pass decides again from the pod, its claims and their slices.
 */
export function createDeviceTaintEvictionController(options: ControllerOptions): Controller {
  const { informers, clock, log } = options;
  const podInformer = informers.for(pods);
  const claims = informers.for(resourceClaims);
  const slices = informers.for(resourceSlices);
  const podsOfClaim = podInformer.index('podsOfDeviceClaim', (pod) =>
    resourceClaimNames(pod).map((name) => formatKey({ namespace: pod.metadata.namespace, name })),
  );
  const claimsOfPool = claims.index('claimsOfPool', ({ status }) => [
    ...new Set((status?.allocation?.devices.results ?? []).map(poolKey)),
  ]);
  const slicesOfPool = slices.index('slicesOfPool', (slice) => [poolOfSlice(slice)]);
  const evictor = new DeviceEvictor({ options, podInformer, claims, slicesOfPool });
  const queue = new RateLimitingQueue({
    name: 'device-taint-eviction',
    clock,
    log,
    workers: WORKERS,
    sync: (key) => evictor.sync(key),
  });
  const wakeUsers = (claim: ResourceClaim): void =>
    podsOfClaim.get(formatKey(keyOf(claim))).forEach((pod) => queue.add(formatKey(keyOf(pod))));
  const sliceChanged = (slice: ResourceSlice, before?: ResourceSlice): void => {
    const pool = poolOfSlice(slice);
    const concerned = [slice, ...(before === undefined ? [] : [before]), ...slicesOfPool.get(pool)];
    if (concerned.some(isEvicting)) claimsOfPool.get(pool).forEach(wakeUsers);
  };
  const podChanged = (pod: Pod): void => {
    if (evictor.knows(pod) || (pod.spec.resourceClaims ?? []).length > 0) queue.add(formatKey(keyOf(pod)));
  };
  const ends = [
    podInformer.addHandlers({
      onAdd: podChanged,
      onUpdate: (before, after) => {
        if (hasMoved(before, after)) podChanged(after);
      },
      onDelete: podChanged,
    }),
    claims.addHandlers({
      onAdd: wakeUsers,
      onUpdate: (before, after) => {
        if (before.status !== after.status) wakeUsers(after);
      },
      onDelete: wakeUsers,
    }),
    slices.addHandlers({
      onAdd: (slice) => sliceChanged(slice),
      onUpdate: (before, after) => sliceChanged(after, before),
      onDelete: (slice) => sliceChanged(slice),
    }),
  ];
  return runController({
    name: 'device taint eviction controller',
    log,
    queues: [queue],
    informers: [podInformer, claims, slices],
    ends,
  });
}

const poolOfSlice = ({ spec: { driver, pool } }: ResourceSlice): string => poolKey({ driver, pool: pool.name });
const isEvicting = ({ spec: { devices = [] } }: ResourceSlice): boolean =>
  devices.some(({ taints = [] }) => taints.some(({ effect }) => effect === 'NoExecute'));
const hasMoved = (before: Pod, after: Pod): boolean =>
  before.spec.nodeName !== after.spec.nodeName ||
  before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp ||
  before.status?.resourceClaimStatuses !== after.status?.resourceClaimStatuses;

interface DeviceEvictorParts {
  readonly options: ControllerOptions;
  readonly podInformer: Informer<Pod>;
  readonly claims: Informer<ResourceClaim>;
  readonly slicesOfPool: ObjectIndex<ResourceSlice>;
}

class DeviceEvictor {
  readonly #parts: DeviceEvictorParts;
  readonly #recorder: EventRecorder;
  /** The pods to evict: scheduled for later, or being evicted with an event. */
  readonly #entries = new Map<string, { readonly kind: 'waiting' | 'leaving'; readonly pod: Pod }>();

  constructor(parts: DeviceEvictorParts) {
    this.#parts = parts;
    this.#recorder = createEventRecorder({ ...parts.options, component: 'device-taint-eviction-controller' });
  }

  knows(pod: Pod): boolean {
    return this.#entries.has(formatKey(keyOf(pod)));
  }

  /** Checks a pod. Resolves to the delay of the next check in milliseconds. */
  async sync(key: string): Promise<number | undefined> {
    const { podInformer, claims, slicesOfPool, options } = this.#parts;
    const pod = podInformer.getByKey(key);
    const known = this.#entries.get(key);
    if (known !== undefined && known.pod.metadata.uid !== pod?.metadata.uid) this.#cancel(key);
    if (pod === undefined) return undefined;
    const { namespace, deletionTimestamp } = pod.metadata;
    const nowMs = options.clock.nowMs();
    const isBound = (pod.spec.nodeName ?? '') !== '';
    const whenMs =
      isBound && deletionTimestamp === undefined
        ? planDeviceEviction(
            claimsInUse(pod, (name) => claims.get({ namespace, name })),
            (pool) => slicesOfPool.get(pool),
            nowMs,
          )
        : undefined;
    if (whenMs === undefined) {
      this.#cancel(key);
      return undefined;
    }
    if (whenMs > nowMs) {
      if (!this.#entries.has(key)) this.#entries.set(key, { kind: 'waiting', pod });
      return whenMs - nowMs;
    }
    await this.#evict(key, pod);
    return undefined;
  }

  async #evict(key: string, pod: Pod): Promise<void> {
    const { client, clock } = this.#parts.options;
    if (this.#entries.get(key)?.kind !== 'leaving') {
      this.#entries.set(key, { kind: 'leaving', pod });
      this.#say(pod, 'Marking for deletion');
    }
    const said = {
      reason: 'DeletionByDeviceTaintManager',
      message: 'Device Taint manager: deleting due to NoExecute taint',
    };
    await deleteDisrupted(client, pod, said, clock.nowMs());
  }

  #cancel(key: string): void {
    const entry = this.#entries.get(key);
    this.#entries.delete(key);
    if (entry?.kind === 'waiting') this.#say(entry.pod, 'Cancelling deletion');
  }

  #say(pod: Pod, message: string): void {
    this.#recorder.event(pods, pod, { type: 'Normal', reason: 'DeviceTaintManagerEviction', message });
  }
}
