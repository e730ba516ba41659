import type { Clock } from '../../base/clock.ts';
import { isKind } from '../../base/errors.ts';
import type { Container, ContainerStats, PodSandbox } from '../../cri/generated/cri-v1.ts';
import { PodSandboxState, PodSandboxStats } from '../../cri/generated/cri-v1.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { PodInterface, PodUsage } from '../plan/pod-usage.ts';
import { nanosOf } from '../plan/docker-time.ts';
import { CpuRates } from './cpu-rates.ts';
import type { ShimHost } from './shim-ports.ts';

export interface PodStatsParts {
  readonly engine: Pick<DockerEngine, 'inspectContainer'>;
  readonly host: Pick<ShimHost, 'isProcessOf' | 'podUsage'>;
  readonly clock: Clock;
}

/** The name of the interface that the CNI plugins create. */
const DEFAULT_INTERFACE = 'eth0';

/**
 * The usage of whole pods in the CRI's terms: from the sandbox's parent cgroup and from its network, as containerd
 * computes it. For a pod without its own cgroup, it is the sum of its containers.
 */
export class PodStatsReader {
  readonly #parts: PodStatsParts;
  readonly #rates = new CpuRates();

  constructor(parts: PodStatsParts) {
    this.#parts = parts;
  }

  forgetAllBut(ids: ReadonlySet<string>): void {
    this.#rates.forgetAllBut(ids);
  }

  /** undefined when the sandbox is gone or not ready: nothing of the pod runs then. */
  async read(
    sandbox: PodSandbox,
    containers: readonly ContainerStats[],
    signal?: AbortSignal,
  ): Promise<PodSandboxStats | undefined> {
    const { engine, host, clock } = this.#parts;
    const { id, metadata, labels, annotations, state } = sandbox;
    if (state !== PodSandboxState.SANDBOX_READY) return undefined;
    try {
      const { State: live, HostConfig: config } = await engine.inspectContainer(id, { signal });
      const pid = live?.Pid ?? 0;
      if (pid === 0 || !host.isProcessOf(pid, id)) return undefined;
      const read = await host.podUsage(pid);
      const hasGroup = (config?.CgroupParent ?? '') !== '';
      const isOnHost = config?.NetworkMode === 'host';
      const usage = { ...(hasGroup ? read : sumOf(containers)), interfaces: isOnHost ? [] : read.interfaces };
      const timestamp = nanosOf(clock.nowMs());
      return PodSandboxStats.fromPartial({
        attributes: { id, ...(metadata !== undefined && { metadata }), labels, annotations },
        linux: { ...this.#linuxOf(id, usage, timestamp), containers: [...containers] },
      });
    } catch (error) {
      if (isKind(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #linuxOf(id: string, { cpuNanos, memory, processes, interfaces }: PodUsage, timestamp: bigint) {
    const rate = cpuNanos === undefined ? undefined : this.#rates.next(id, { atNanos: timestamp, coreNanos: cpuNanos });
    const network = interfaces.map(interfaceUsage);
    const main = network.find(({ name }) => name === DEFAULT_INTERFACE) ?? network[0];
    return {
      ...(cpuNanos !== undefined && {
        cpu: {
          timestamp,
          usageCoreNanoSeconds: { value: cpuNanos },
          ...(rate !== undefined && { usageNanoCores: { value: rate } }),
        },
      }),
      ...(memory !== undefined && {
        memory: {
          timestamp,
          usageBytes: { value: memory.usage },
          workingSetBytes: { value: memory.workingSet },
          rssBytes: { value: memory.rss },
          pageFaults: { value: memory.pageFaults },
          majorPageFaults: { value: memory.majorPageFaults },
        },
      }),
      ...(main !== undefined && { network: { timestamp, defaultInterface: main, interfaces: network } }),
      ...(processes !== undefined && { process: { timestamp, processCount: { value: processes } } }),
    };
  }
}

function sumOf(containers: readonly ContainerStats[]): Omit<PodUsage, 'interfaces'> {
  const sum = (figure: (stats: ContainerStats) => bigint | undefined): bigint =>
    containers.reduce((total, each) => total + (figure(each) ?? 0n), 0n);
  return {
    cpuNanos: sum(({ cpu }) => cpu?.usageCoreNanoSeconds?.value),
    memory: {
      usage: sum(({ memory }) => memory?.usageBytes?.value),
      workingSet: sum(({ memory }) => memory?.workingSetBytes?.value),
      rss: sum(({ memory }) => memory?.rssBytes?.value),
      pageFaults: sum(({ memory }) => memory?.pageFaults?.value),
      majorPageFaults: sum(({ memory }) => memory?.majorPageFaults?.value),
    },
  };
}

const interfaceUsage = ({ name, rxBytes, rxErrors, txBytes, txErrors }: PodInterface) => ({
  name,
  rxBytes: { value: rxBytes },
  rxErrors: { value: rxErrors },
  txBytes: { value: txBytes },
  txErrors: { value: txErrors },
});

/** Statistics of containers, by the id of their sandbox. */
export function bySandbox(
  containers: readonly Container[],
  stats: readonly ContainerStats[],
): ReadonlyMap<string, readonly ContainerStats[]> {
  const sandboxOf = new Map(containers.map(({ id, podSandboxId }) => [id, podSandboxId]));
  return Map.groupBy(stats, ({ attributes }) => sandboxOf.get(attributes?.id ?? '') ?? '');
}
