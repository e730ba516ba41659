import type { Clock } from '../../base/clock.ts';
import { isKind } from '../../base/errors.ts';
import type { Container } from '../../cri/generated/cri-v1.ts';
import { ContainerState, ContainerStats } from '../../cri/generated/cri-v1.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import type { DockerStats } from '../engine/docker-types.ts';
import { nanosOf, parseNanos } from '../plan/docker-time.ts';
import { CpuRates } from './cpu-rates.ts';

export interface ContainerStatsParts {
  readonly engine: Pick<DockerEngine, 'stats' | 'inspectContainer'>;
  readonly clock: Clock;
}

/** Docker reads all files of a writable layer to compute its size. */
const LAYER_AGE_MS = 60_000;
/** How many readings Docker takes concurrently. */
const MOST_READINGS = 8;

/** The usage of containers in the CRI's terms. */
export class ContainerStatsReader {
  readonly #parts: ContainerStatsParts;
  readonly #rates = new CpuRates();
  readonly #layers = new Map<string, { readonly atMs: number; readonly bytes: bigint }>();

  constructor(parts: ContainerStatsParts) {
    this.#parts = parts;
  }

  /** Usage of running containers. One that ends meanwhile is left out. */
  async readAll(
    containers: readonly Container[],
    mountpoint: string,
    signal?: AbortSignal,
  ): Promise<readonly ContainerStats[]> {
    const running = containers.filter(({ state }) => state === ContainerState.CONTAINER_RUNNING);
    const left = [...running];
    const read: ContainerStats[] = [];
    const work = async (): Promise<void> => {
      for (let next = left.pop(); next !== undefined; next = left.pop()) {
        const stats = await this.read(next, mountpoint, signal);
        if (stats !== undefined) read.push(stats);
      }
    };
    await Promise.all(Array.from({ length: MOST_READINGS }, work));
    return read;
  }

  /** undefined when it is gone. */
  async read(container: Container, mountpoint: string, signal?: AbortSignal): Promise<ContainerStats | undefined> {
    try {
      const stats = await this.#parts.engine.stats(container.id, { signal });
      return this.#statsOf(container, stats, { mountpoint, layerBytes: await this.#layerBytes(container.id, signal) });
    } catch (error) {
      if (isKind(error, 'NotFound')) return undefined;
      throw error;
    }
  }

  #statsOf(
    container: Container,
    stats: DockerStats,
    layer: { readonly mountpoint: string; readonly layerBytes: bigint },
  ): ContainerStats {
    const { id, metadata, labels, annotations } = container;
    const timestamp = parseNanos(stats.read) || nanosOf(this.#parts.clock.nowMs());
    const coreNanos = BigInt(Math.round(stats.cpu_stats?.cpu_usage?.total_usage ?? 0));
    const memory = memoryOf(stats);
    const rate = this.#rates.next(id, { atNanos: timestamp, coreNanos });
    return ContainerStats.fromPartial({
      attributes: { id, ...(metadata !== undefined && { metadata }), labels, annotations },
      cpu: {
        timestamp,
        usageCoreNanoSeconds: { value: coreNanos },
        ...(rate !== undefined && { usageNanoCores: { value: rate } }),
      },
      memory: { timestamp, ...memory },
      writableLayer: {
        timestamp,
        fsId: { mountpoint: layer.mountpoint },
        usedBytes: { value: layer.layerBytes },
      },
    });
  }

  async #layerBytes(id: string, signal?: AbortSignal): Promise<bigint> {
    const nowMs = this.#parts.clock.monotonicMs();
    const known = this.#layers.get(id);
    if (known !== undefined && nowMs - known.atMs < LAYER_AGE_MS) return known.bytes;
    const { SizeRw = 0 } = await this.#parts.engine.inspectContainer(id, { size: true, signal });
    const bytes = BigInt(Math.max(SizeRw, 0));
    this.#layers.set(id, { atMs: nowMs, bytes });
    return bytes;
  }

  /** After a full list: earlier readings of containers that are not in it are discarded. */
  forgetAllBut(ids: ReadonlySet<string>): void {
    this.#rates.forgetAllBut(ids);
    for (const id of this.#layers.keys()) if (!ids.has(id)) this.#layers.delete(id);
  }
}

/** The names in cgroup v1 and v2 of memory that can be reclaimed, and of memory that cannot. */
function memoryOf({ memory_stats: memory = {} }: DockerStats): {
  readonly workingSetBytes: { value: bigint };
  readonly usageBytes: { value: bigint };
  readonly rssBytes: { value: bigint };
  readonly pageFaults: { value: bigint };
  readonly majorPageFaults: { value: bigint };
} {
  const { usage = 0, stats = {} } = memory;
  const figure = (...names: readonly string[]): number => {
    const name = names.find((each) => Object.hasOwn(stats, each));
    return name === undefined ? 0 : (stats[name] ?? 0);
  };
  const value = (bytes: number): { value: bigint } => ({ value: BigInt(Math.max(0, Math.round(bytes))) });
  return {
    workingSetBytes: value(usage - figure('total_inactive_file', 'inactive_file')),
    usageBytes: value(usage),
    rssBytes: value(figure('total_rss', 'anon')),
    pageFaults: value(figure('total_pgfault', 'pgfault')),
    majorPageFaults: value(figure('total_pgmajfault', 'pgmajfault')),
  };
}
