import type { Pod } from '../../../../api/core/pod.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { applyDefaults } from '../../../model/config/defaults.ts';
import { computeFeatureGates } from '../../../model/config/feature-gates.ts';
import { toKubeletConfig } from '../../../model/config/kubelet-config.ts';
import type { MachineTopology } from '../../../model/machine-topology.ts';
import { dualSocket } from '../../../model/testing/machines.ts';
import type { CpuManager } from '../cpu-manager.ts';
import { createCpuManager } from '../create-cpu-manager.ts';

export interface CpuManagerFixture {
  readonly manager: CpuManager;
  readonly asides: string[];
  readonly counted: string[];
}

export interface CpuManagerSetting {
  readonly machine?: MachineTopology;
  readonly config?: Record<string, unknown>;
  readonly reservedCpu?: string;
  readonly text?: string;
}

/** Starts a CPU manager with the static policy. */
export function startCpuManager({
  machine = dualSocket,
  config = {},
  reservedCpu = '1',
  text,
}: CpuManagerSetting = {}): CpuManagerFixture {
  const asides: string[] = [];
  const counted: string[] = [];
  const { gates } = computeFeatureGates((config['featureGates'] ?? {}) as Record<string, boolean>);
  const given = applyDefaults({ cpuManagerPolicy: 'static', ...config }, gates.enabled);
  const manager = createCpuManager({
    config: toKubeletConfig(given, gates),
    reservedCpu,
    topology: machine,
    file: { text, setAside: (why) => void asides.push(why), follow: () => undefined, changed: () => undefined },
    observer: {
      assigned: ({ from, isExclusive }) =>
        void counted.push(from === 'node' ? 'pinned' : `${isExclusive ? 'exclusive' : 'shared'} of the pod`),
      refused: (from) => void counted.push(from === 'node' ? 'failed' : 'failed for the pod'),
      aligned: (boundary, succeeded) => void counted.push(`${boundary} ${succeeded ? 'aligned' : 'not aligned'}`),
    },
    log: recordingLog(),
  });
  return { manager, asides, counted };
}

/** Admits a pod with pod-level resources as the topology policy `best-effort` does in the scope of the pod. */
export function admitWhole(manager: CpuManager, pod: Pod, affinity?: number): string | undefined {
  const draft = manager.begin(pod);
  const problem = draft.allocatePod?.(affinity);
  if (problem !== undefined) return `${problem.reason}: ${problem.message}`;
  draft.commit();
  return undefined;
}

/**
 * Admits a pod as the topology policy `none` does: one container after the other, with any CPUs. Returns the message of
 * a rejection.
 */
export function admit(manager: CpuManager, pod: Pod): string | undefined {
  const draft = manager.begin(pod);
  for (const container of [...(pod.spec.initContainers ?? []), ...pod.spec.containers]) {
    const problem = draft.allocate(container, undefined);
    if (problem !== undefined) return `${problem.reason}: ${problem.message}`;
  }
  draft.commit();
  return undefined;
}
