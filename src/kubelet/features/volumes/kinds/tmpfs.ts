import type { Pod } from '../../../../api/core/pod.ts';
import { quantityValue } from '../../../../api/quantity.ts';
import { podQos } from '../../../../api/qos.ts';
import { nodeEvents } from '../../../../api/reasons.ts';
import { podLimits } from '../../../../api/resources.ts';
import { errorMessage } from '../../../../base/errors.ts';
import type { Logger } from '../../../../base/log.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { Mounts } from '../../../ports/mounts.ts';
import type { NodeEventRecorder } from '../../../ports/recorder.ts';

/** The memory limit of a pod as a whole; undefined when there is none. Same rule as for the limit of its cgroup. */
function podMemoryLimitBytes(pod: Pod): number | undefined {
  if (podQos(pod) === 'BestEffort') return undefined;
  const limited = (list: Readonly<Record<string, string>> | undefined): boolean =>
    quantityValue(list?.['memory'] ?? '0') > 0;
  const everyone = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].every((container) =>
    limited(container.resources?.limits),
  );
  if (!everyone && !limited(pod.spec.resources?.limits)) return undefined;
  const bytes = quantityValue(podLimits(pod)['memory'] ?? '0');
  return bytes > 0 ? bytes : undefined;
}

/**
 * The smallest limit that applies (upstream: emptydir, calculateEmptyDirMemorySize); undefined without one: the
 * kernel's half of memory.
 */
export function computeTmpfsSizeBytes(
  pod: Pod,
  sizeLimit: string | undefined,
  nodeAllocatableBytes: number,
): number | undefined {
  const candidates = [
    nodeAllocatableBytes,
    podMemoryLimitBytes(pod) ?? 0,
    sizeLimit === undefined ? 0 : quantityValue(sizeLimit),
  ].filter((bytes) => bytes > 0);
  return candidates.length === 0 ? undefined : Math.min(...candidates);
}

export interface TmpfsOptions {
  readonly files: HostFiles;
  readonly mounts: Mounts;
  readonly recorder: NodeEventRecorder;
  readonly log: Logger;
  /** 0 when unknown. */
  readonly nodeAllocatableMemoryBytes: () => number;
}

/**
 * Memory-backed volumes, kept out of swap where the kernel supports it; where it does not and swap is on, a node event
 * says so once.
 */
export class Tmpfs {
  readonly #options: TmpfsOptions;
  #warning: Promise<void> | undefined;

  constructor(options: TmpfsOptions) {
    this.#options = options;
  }

  /** Mounts a tmpfs at an existing directory unless one is there. */
  async ensure(
    pod: Pod,
    path: string,
    how: { sizeLimit?: string | undefined; mounted: boolean | undefined },
  ): Promise<void> {
    const { mounts, nodeAllocatableMemoryBytes } = this.#options;
    const mounted =
      how.mounted ?? (await mounts.listBelow(path)).some((mount) => mount.path === path && mount.fsType === 'tmpfs');
    if (mounted) return;
    const sizeBytes = computeTmpfsSizeBytes(pod, how.sizeLimit, nodeAllocatableMemoryBytes());
    await mounts.mountTmpfs(path, { noswap: true, ...(sizeBytes === undefined ? {} : { sizeBytes }) });
    await (this.#warning ??= this.#warnOfSwap());
  }

  /** In upstream's words (container_manager_linux.go), when the first such volume is set up. */
  async #warnOfSwap(): Promise<void> {
    if (!(await this.#maySwap())) return;
    this.#options.recorder.nodeEvent(
      'Warning',
      nodeEvents.possibleMemoryBackedVolumesOnDisk,
      'The tmpfs noswap option is not supported. Memory-backed volumes (e.g. secrets, emptyDirs, etc.) might be swapped to disk and should no longer be considered secure.',
    );
  }

  async #maySwap(): Promise<boolean> {
    if (await this.#options.mounts.supportsTmpfsNoswap()) return false;
    try {
      const lines = (await this.#options.files.readText('/proc/swaps', 64 * 1024)).trim().split('\n');
      return lines.length > 1;
    } catch (error) {
      this.#options.log.debug(2, 'swap devices cannot be read', { error: errorMessage(error) });
      return false;
    }
  }
}
