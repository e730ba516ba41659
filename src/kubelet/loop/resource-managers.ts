import type { Container } from '../../api/core/container.ts';
import type { Pod } from '../../api/core/pod.ts';
import { podKey } from '../../api/pod.ts';
import { hasPodLevelResources } from '../../api/resources.ts';
import type { Logger } from '../../base/log.ts';
import type { AdmissionManager } from '../features/admission/admission-manager.ts';
import type { CpuManager } from '../features/cpu-manager/cpu-manager.ts';
import type { MemoryManager } from '../features/memory-manager/memory-manager.ts';
import type { CpuSetUpdater } from '../features/cpu-manager/cpu-set-updater.ts';
import type { RuntimeCache } from '../features/pleg/runtime-cache.ts';
import type { PodPlacement } from '../features/pod-runtime/config/node-facts.ts';
import type { TopologyManager } from '../features/topology-manager/topology-manager.ts';
import { formatCpuSet } from '../model/cpu-set.ts';
import type { PodUid } from '../model/ids.ts';
import type { AllocationProblem } from '../model/topology-hints.ts';
import type { PodDirectory } from './pod-directory.ts';

export interface ResourceManagersParts {
  readonly topology: Pick<TopologyManager, 'check' | 'allocate'>;
  readonly cpu: Pick<CpuManager, 'policyName' | 'affinity' | 'exclusive' | 'isAlone' | 'retain' | 'onChange'>;
  readonly memory: Pick<MemoryManager, 'affinity' | 'retain'>;
  readonly updater: Pick<CpuSetUpdater, 'start' | 'stop' | 'wake' | 'noteCreated' | 'retain'>;
  /** Resolves when the state of the managers is on disk, or cannot be written now. */
  readonly saved: () => Promise<void>;
  readonly directory: Pick<PodDirectory, 'isPresent' | 'isTerminal'>;
  readonly admission: () => Pick<AdmissionManager, 'hasPlace'>;
  readonly runtime: Pick<RuntimeCache, 'isRead'> & { runsContainer(uid: PodUid): boolean };
  /** Whether all sources have reported. After that, an unknown pod has been removed. */
  readonly sourcesReady: () => boolean;
  /** The feature gate DisableCPUQuotaWithExclusiveCPUs. */
  readonly quotaOffWithExclusiveCpus: boolean;
  /** The feature gate PodLevelResourceManagers. */
  readonly podLevel: boolean;
  readonly log: Logger;
}

/**
 * Connects the CPU, memory and topology managers with the pods' life cycle.
 * 1. An admitted pod has its resources before its first container is created, and they are on disk by then.
 * 2. Resources are released when nothing of the pod runs any more, even if a source still lists the ended pod, and
 *    never before all sources have reported.
 * 3. An admitted pod whose allocation fails runs in the shared pool, so that an agent that lost its state stops no pod.
 */
export class ResourceManagers {
  readonly #parts: ResourceManagersParts;
  readonly #failed = new Set<string>();

  constructor(parts: ResourceManagersParts) {
    this.#parts = parts;
    parts.cpu.onChange(() => parts.updater.wake());
  }

  start(): void {
    if (this.#parts.cpu.policyName === 'static') this.#parts.updater.start();
  }

  async stop(): Promise<void> {
    await this.#parts.updater.stop();
    await this.#parts.saved();
  }

  /** Returns why the node cannot give the pod its resources now. */
  check(pod: Pod): AllocationProblem | undefined {
    this.release();
    return this.#parts.topology.check(pod);
  }

  /** Allocates resources for an admitted pod, or keeps those of an earlier run. */
  podAdmitted(pod: Pod): void {
    const uid = pod.metadata.uid ?? '';
    const problem = this.#parts.topology.allocate(pod);
    if (problem === undefined) this.#failed.delete(uid);
    else if (!this.#failed.has(uid)) {
      this.#failed.add(uid);
      this.#parts.log.warn('an admitted pod cannot have resources of its own; it runs in the shared pool', {
        pod: podKey(pod),
        reason: problem.reason,
        message: problem.message,
      });
    }
  }

  /** Returns the resources of pods that are over. */
  release(): void {
    const { cpu, memory, updater, sourcesReady } = this.#parts;
    if (!sourcesReady()) return;
    const isKept = (uid: string): boolean => this.#mayRun(uid as PodUid);
    cpu.retain(isKept);
    memory.retain(isKept);
    updater.retain(isKept);
    for (const uid of this.#failed) if (!isKept(uid)) this.#failed.delete(uid);
  }

  /** Whether the pod has, or will have, processes on this node. Until the runtime was read, anything may still run. */
  #mayRun(uid: PodUid): boolean {
    const { directory, admission, runtime } = this.#parts;
    if (!runtime.isRead(uid) || runtime.runsContainer(uid)) return true;
    return !directory.isTerminal(uid) && (directory.isPresent(uid) || admission().hasPlace(uid));
  }

  /** Called when a container started or ended. */
  runtimeChanged(): void {
    if (this.#parts.cpu.policyName === 'static') this.#parts.updater.wake();
  }

  /** Returns the resources of the pod's containers. Resolves when they are stored on disk. */
  async place(pod: Pod): Promise<Pick<PodPlacement, 'exclusiveCpus' | 'pinning'>> {
    const { cpu, memory, updater, saved } = this.#parts;
    const uid = pod.metadata.uid ?? '';
    if (this.#failed.has(uid)) this.podAdmitted(pod);
    if (this.#hasOwn(pod)) await saved();
    return {
      exclusiveCpus: (container) => this.hasExclusiveCpus(pod, container),
      pinning: (container) => {
        const cpus = cpu.affinity(uid, container);
        const nodes = memory.affinity(uid, container);
        const cpusetMems = nodes === undefined ? {} : { cpusetMems: formatCpuSet(nodes) };
        if (cpus === undefined || cpus.size === 0) return cpusetMems;
        updater.noteCreated(uid, container, cpus);
        return { cpusetCpus: formatCpuSet(cpus), ...cpusetMems };
      },
    };
  }

  #hasOwn({ metadata, spec }: Pod): boolean {
    const { cpu, memory } = this.#parts;
    const uid = metadata.uid ?? '';
    const containers = [...(spec.initContainers ?? []), ...spec.containers];
    return cpu.exclusive(uid) !== undefined || containers.some(({ name }) => memory.affinity(uid, name) !== undefined);
  }

  /**
   * Whether the container (without a name: any container of the pod) has exclusive CPUs and so needs no quota. With
   * pod-level resources, all containers must have them (upstream: PodHasExclusiveCPUs).
   */
  hasExclusiveCpus(pod: Pod, container?: string): boolean {
    const { cpu, podLevel, quotaOffWithExclusiveCpus } = this.#parts;
    if (!quotaOffWithExclusiveCpus) return false;
    const containers = [...(pod.spec.initContainers ?? []), ...pod.spec.containers];
    const named = container === undefined ? containers : containers.filter(({ name }) => name === container);
    const isAlone = (one: Container): boolean => cpu.isAlone(pod, one);
    return podLevel && hasPodLevelResources(pod) ? named.every(isAlone) : named.some(isAlone);
  }
}
