import type { AdmissionManager } from '../../features/admission/admission-manager.ts';
import type { CpuManager } from '../../features/cpu-manager/cpu-manager.ts';
import { CpuSetUpdater } from '../../features/cpu-manager/cpu-set-updater.ts';
import { createCpuManager } from '../../features/cpu-manager/create-cpu-manager.ts';
import type { MemoryManager } from '../../features/memory-manager/memory-manager.ts';
import { createMemoryManager } from '../../features/memory-manager/create-memory-manager.ts';
import {
  observedCpuManager,
  observedMemoryManager,
  observedTopologyManager,
} from '../../features/metrics/resource-managers.ts';
import { createTopologyManager } from '../../features/topology-manager/create-topology-manager.ts';
import { ResourceManagers } from '../../loop/resource-managers.ts';
import { flatTopology } from '../../model/machine-topology.ts';
import type { HintProvider } from '../../model/topology-hints.ts';
import type { Given } from './kubelet-parts.ts';

export interface ManagerParts {
  readonly cpuManager: CpuManager;
  readonly memoryManager: MemoryManager;
  readonly managers: ResourceManagers;
}

/** Creates the resource managers. Throws `Invalid` if the machine cannot have the configured policies. */
export function composeManagers(
  parts: Given<'cache' | 'directory' | 'node' | 'sourcesReady' | 'store'>,
  devices: HintProvider,
  admission: () => Pick<AdmissionManager, 'activePods' | 'hasPlace'>,
): ManagerParts {
  const { settings, platform, records, observation, cache, directory, node } = parts;
  const { clock, random, log, machine } = platform;
  const { config } = settings;
  const topology = platform.topology?.() ?? flatTopology(machine);
  const cpuManager = createCpuManager({
    config,
    reservedCpu: node.identity.reservation['cpu'] ?? '0',
    topology,
    file: records.cpuManagerState,
    observer: observedCpuManager(observation.metrics, config.managers),
    log,
  });
  const memoryManager = createMemoryManager({
    config,
    nodeReservation: node.identity.reservation,
    topology,
    file: records.memoryManagerState,
    observer: observedMemoryManager(observation.metrics, config.managers),
    log,
  });
  const managers = new ResourceManagers({
    topology: createTopologyManager({
      config,
      topology,
      providers: [devices, cpuManager, memoryManager],
      observer: observedTopologyManager(observation.metrics),
      monotonicMs: () => clock.monotonicMs(),
    }),
    cpu: cpuManager,
    memory: memoryManager,
    updater: new CpuSetUpdater({
      runtime: platform.runtime,
      running: () => directory.presentOf(cache.all()),
      affinity: (uid, container) => cpuManager.affinity(uid, container),
      clock,
      random,
      log,
      periodMs: config.managers.cpuReconcilePeriodMs,
    }),
    saved: () => records.saveManagers(),
    directory,
    admission,
    runtime: {
      isRead: (uid) => cache.isRead(uid),
      runsContainer: (uid) => cache.get(uid)?.containers.some(({ state }) => state === 'running') === true,
    },
    sourcesReady: parts.sourcesReady,
    quotaOffWithExclusiveCpus: config.gates.enabled('DisableCPUQuotaWithExclusiveCPUs'),
    podLevel: config.managers.podLevel,
    log,
  });
  return { cpuManager, memoryManager, managers };
}
