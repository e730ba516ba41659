import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { PodUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { Cgroups } from '../../ports/cgroups.ts';
import type { AllocationManagerOptions } from './allocation-manager.ts';
import { AllocationManager } from './allocation-manager.ts';
import type { ResizeNode } from './decide-resize.ts';

export interface CreateAllocationParts
  extends Pick<
    AllocationManagerOptions,
    'allocatedPods' | 'allocated' | 'actuated' | 'sourcesReady' | 'observe' | 'recorder' | 'clock'
  > {
  readonly config: Pick<KubeletConfig, 'versioned' | 'cgroups' | 'gates' | 'managers'>;
  readonly cgroups: Pick<Cgroups, 'version' | 'swapControl'>;
  readonly node: Pick<ReturnType<AllocationManagerOptions['node']>, 'allocatable'>;
  readonly store: { pods(): Pod[]; byUid(uid: PodUid): Pod | undefined };
  readonly directory: { isOver(uid: PodUid): boolean };
  readonly cache: { get(uid: PodUid): PodRuntimeStatus | undefined; isRead(uid: PodUid): boolean };
  readonly statuses: { get(uid: PodUid): PodStatus | undefined };
  /** Decides whether a resize fits, and reports pods that were admitted. */
  readonly admission: {
    misfit(pod: Pod): { reason: string; message: string } | undefined;
    onAdmitted(listener: (pod: Pod) => void): unknown;
  };
  /** Requests a sync of the pod. */
  readonly sync: (uid: PodUid) => void;
}

/** Creates the allocation manager as this node is configured. */
export function createAllocation(parts: CreateAllocationParts): AllocationManager {
  const { config, cgroups, node, store, directory, cache, statuses, admission, sync } = parts;
  const manager = new AllocationManager({
    allocatedPods: parts.allocatedPods,
    allocated: parts.allocated,
    actuated: parts.actuated,
    clock: parts.clock,
    recorder: parts.recorder,
    node: () => ({
      allocatable: node.allocatable,
      ...pinningPolicies(config),
      podLevelManagers: config.managers.podLevel,
      swapBehavior: config.cgroups.swapBehavior,
      cgroupVersion: cgroups.version,
      swapControl: cgroups.swapControl,
    }),
    pods: () => store.pods(),
    isOver: (uid) => directory.isOver(uid),
    misfit: (pod) => admission.misfit(pod),
    sourcesReady: parts.sourcesReady,
    runtime: (uid) => (cache.isRead(uid) ? cache.get(uid) : undefined),
    publishedConditions: (uid) => statuses.get(uid)?.conditions ?? store.byUid(uid)?.status?.conditions ?? [],
    // Queued instead of run immediately: a pod whose admission is in progress has no probes yet, and a status now would
    // report it as not ready.
    onChange: sync,
    ...(parts.observe && { observe: parts.observe }),
    onAllocated: sync,
  });
  admission.onAdmitted((pod) => manager.podAdded(pod));
  return manager;
}

/**
 * Returns the policies that refuse a resize of a guaranteed pod, and for each the gate that allows it (upstream:
 * allocation/handlers.go guaranteedPodResizeHandler).
 */
export function pinningPolicies({
  versioned,
  gates,
}: Pick<KubeletConfig, 'versioned' | 'gates'>): Pick<ResizeNode, 'cpuManagerPolicy' | 'memoryManagerPolicy'> {
  const { cpuManagerPolicy, memoryManagerPolicy } = versioned;
  return {
    cpuManagerPolicy: gates.enabled('InPlacePodVerticalScalingExclusiveCPUs') ? 'none' : cpuManagerPolicy,
    memoryManagerPolicy: gates.enabled('InPlacePodVerticalScalingExclusiveMemory') ? 'None' : memoryManagerPolicy,
  };
}
