import type { Pod } from '../../api/core/pod.ts';
import type { AdmissionManager } from '../features/admission/admission-manager.ts';
import type { AllocationManager } from '../features/allocation/allocation-manager.ts';
import type { ContainerGc } from '../features/container-gc/container-gc.ts';
import type { EvictedRecord } from '../features/eviction/evicted-record.ts';
import type { ExplainStore } from '../features/explain/explain-store.ts';
import type { ImageManager } from '../features/images/image-manager.ts';
import type { OomRecords } from '../features/oom-watcher/oom-records.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import type { PodRuntime } from '../features/pod-runtime/pod-runtime.ts';
import type { StatusManager } from '../features/status/status-manager.ts';
import type { PodUid } from '../model/ids.ts';
import type { ClusterPods } from './cluster-pods.ts';
import type { ResourceManagers } from './resource-managers.ts';
import type { PodChanges } from './pod-changes.ts';
import type { SyncQueue } from './sync-queue.ts';

export interface PodCleanupParts {
  readonly runtime: Pick<PodRuntime, 'forgetPod'>;
  readonly images: Pick<ImageManager, 'forgetPod'>;
  readonly statuses: Pick<StatusManager, 'forget' | 'beginAgain'>;
  readonly admission: Pick<AdmissionManager, 'forget'>;
  readonly evicted: Pick<EvictedRecord, 'forget'>;
  readonly allocation: Pick<AllocationManager, 'forget'>;
  readonly managers: Pick<ResourceManagers, 'release'>;
  readonly explain: Pick<ExplainStore, 'forget'>;
  readonly oomKills: Pick<OomRecords, 'forget'>;
  /** The API pods of this node; undefined on a standalone node. */
  readonly clusterPods: Pick<ClusterPods, 'forget' | 'podChanged'> | undefined;
  readonly containerGc: Pick<ContainerGc, 'collectPod'>;
  readonly cache: Pick<RuntimeCache, 'get'>;
  readonly changes: Pick<PodChanges, 'notifyGone'>;
  readonly queue: Pick<SyncQueue, 'post'>;
}

/**
 * Releases everything that belongs to a removed pod: the state features keep for it and what it left in the runtime.
 */
export class PodCleanup {
  readonly #parts: PodCleanupParts;

  constructor(parts: PodCleanupParts) {
    this.#parts = parts;
  }

  /** Drops all state kept for the pod, synchronously. With `revived`, the pod starts again under the same UID. */
  forget(uid: PodUid, { pod, revived }: { pod: Pod | undefined; revived: boolean }): void {
    const { runtime, images, statuses, admission, allocation, explain, oomKills, clusterPods, changes, queue } =
      this.#parts;
    runtime.forgetPod(uid);
    images.forgetPod(uid);
    if (revived) statuses.beginAgain(uid);
    else statuses.forget(uid);
    admission.forget(uid);
    this.#parts.evicted.forget(uid);
    allocation.forget(uid);
    explain.forget(uid);
    oomKills.forget(uid);
    clusterPods?.forget(uid);
    if (pod !== undefined) {
      clusterPods?.podChanged(pod);
      changes.notifyGone(pod);
    }
    // The volumes of a pod that only the runtime knew are still mounted: unmount them now, not with the next clean-up.
    else queue.post({ kind: 'housekeeping' });
  }

  /** Removes what a stopped pod left in the runtime, and the state kept for its containers. */
  async collect(uid: PodUid): Promise<void> {
    const { cache, containerGc, runtime, managers } = this.#parts;
    const status = cache.get(uid);
    await containerGc.collectPod(uid);
    runtime.forgetPod(uid, status);
    managers.release();
  }
}
