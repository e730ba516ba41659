import { AllocationManager } from '../../features/allocation/allocation-manager.ts';
import type { FeatureContext } from './compose-context.ts';

/** Who was granted which resources. Whether a wish fits is asked of admission, which is made later and linked then. */
export function composeAllocation({ settings, world, records, knowledge, links }: FeatureContext): AllocationManager {
  const { config } = settings;
  const { cgroups } = world;
  const { main } = knowledge.observation.metrics;
  return new AllocationManager({
    allocated: records.allocated,
    actuated: records.actuated,
    clock: world.clock,
    recorder: knowledge.recorder,
    node: () => ({
      allocatable: knowledge.node.allocatable,
      cpuManagerPolicy: config.versioned.cpuManagerPolicy,
      memoryManagerPolicy: config.versioned.memoryManagerPolicy,
      swapBehavior: config.cgroups.swapBehavior,
      cgroupVersion: cgroups.version,
      swapControl: cgroups.swapControl,
    }),
    pods: () => knowledge.store.pods(),
    isOver: (uid) => links.isOver(uid),
    misfit: (pod) => links.misfit(pod),
    sourcesReady: () => links.sourcesReady(),
    runtime: (uid) => (knowledge.cache.isRead(uid) ? knowledge.cache.get(uid) : undefined),
    toldConditions: (uid) =>
      records.statuses.get(uid)?.conditions ?? knowledge.store.byUid(uid)?.status?.conditions ?? [],
    // In its own turn: a pod that is just being taken in has no probes yet, and a status now would say that it is not ready.
    onChange: (uid) => links.post({ kind: 'sync', uids: [uid] }),
    observe: {
      deferredAccepted: (trigger) =>
        main.count('kubelet_pod_deferred_accepted_resizes_total', { retry_trigger: trigger }),
      infeasible: (cause) => main.count('kubelet_pod_infeasible_resizes_total', { reason_detail: cause }),
    },
    onGranted: (uid) => links.post({ kind: 'sync', uids: [uid] }),
  });
}
