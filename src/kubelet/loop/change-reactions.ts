import type { DriverRegistry } from '../features/csi/driver-registry.ts';
import type { ShutdownState } from '../features/node-shutdown/shutdown-state.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import type { PodStore } from '../features/pod-store/pod-store.ts';
import type { WorkerStates } from '../features/pod-workers/worker-states.ts';
import type { ProbeManager } from '../features/probes/probe-manager.ts';
import type { VolumeManager } from '../features/volumes/volume-manager.ts';
import { podUid } from '../model/ids.ts';
import type { ClusterObjects } from '../ports/cluster-objects.ts';
import type { CredentialChange } from '../ports/pod-credentials.ts';
import type { PodChanges } from './pod-changes.ts';
import type { ResourceManagers } from './resource-managers.ts';
import type { RuntimeMonitor } from './runtime-monitor.ts';
import type { StatusUpdater } from './status-updater.ts';
import type { SyncLoop } from './sync-loop.ts';
import type { SyncQueue } from './sync-queue.ts';

export interface ChangeReactionsParts {
  readonly cache: Pick<RuntimeCache, 'onChange'>;
  readonly objects: Pick<ClusterObjects, 'onChange'>;
  readonly drivers: Pick<DriverRegistry, 'onChange'>;
  /** Objects of certificates.k8s.io that projected volumes use. */
  readonly podCredentials: { onChange(listener: (change: CredentialChange) => void): void };
  readonly managers: Pick<ResourceManagers, 'runtimeChanged'>;
  readonly probes: Pick<ProbeManager, 'noteStatus'>;
  readonly status: Pick<StatusUpdater, 'refresh'>;
  readonly store: Pick<PodStore, 'podsUsing'>;
  readonly states: Pick<WorkerStates, 'known'>;
  readonly volumes: Pick<VolumeManager, 'objectChanged' | 'undoAgain'>;
  readonly queue: Pick<SyncQueue, 'post'>;
}

/** What the agent does when the runtime, an object or a CSI driver changes. */
export function connectChangeReactions(parts: ChangeReactionsParts): void {
  const { cache, objects, drivers, managers, probes, status, store, states, volumes, queue } = parts;
  cache.onChange(({ uid, after }) => {
    if (after !== undefined) probes.noteStatus(after);
    status.refresh(uid);
    managers.runtimeChanged();
  });
  objects.onChange((change) => {
    volumes.objectChanged(change);
    const uids = store.podsUsing(change.kind, change.namespace, change.name).map((pod) => podUid(pod.metadata.uid));
    if (uids.length > 0) queue.post({ kind: 'sync', uids });
  });
  parts.podCredentials.onChange((change) => volumes.objectChanged(change));
  // Volumes that waited for a driver continue when it registers, as if its object had changed.
  drivers.onChange((name, isRegistered) => {
    if (!isRegistered) return;
    volumes.objectChanged({ kind: 'CSIDriver', namespace: '', name });
    volumes.undoAgain();
    const ending = [...states.known()].filter(([, { phase }]) => phase === 'terminated');
    queue.post({ kind: 'sync', uids: ending.map(([uid]) => uid) });
    queue.post({ kind: 'housekeeping' });
  });
}

export interface PodReactionsParts {
  readonly changes: Pick<PodChanges, 'onChange' | 'onGone'>;
  readonly status: Pick<StatusUpdater, 'refresh'>;
  readonly shutdownState: Pick<ShutdownState, 'forget'>;
}

/** What the agent does when a feature announces a change of a pod, and when nothing of a pod is left. */
export function connectPodReactions({ changes, status, shutdownState }: PodReactionsParts): void {
  changes.onChange((uid) => void status.refresh(uid));
  changes.onGone(({ metadata }) => shutdownState.forget(podUid(metadata.uid)));
}

export interface RuntimeReactionParts {
  readonly monitor: Pick<RuntimeMonitor, 'onChange' | 'networkError'>;
  readonly states: Pick<WorkerStates, 'known'>;
  readonly queue: Pick<SyncQueue, 'post'>;
  readonly loop: Pick<SyncLoop, 'wake'>;
}

/** Pods that waited for the runtime or its network are synced now, not when they are due. */
export function connectRuntimeReaction({ monitor, states, queue, loop }: RuntimeReactionParts): void {
  monitor.onChange(() => {
    if (monitor.networkError() === undefined) queue.post({ kind: 'sync', uids: [...states.known().keys()] });
    else loop.wake();
  });
}
