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

/**
 * Returns the memory limit of the pod as a whole, or undefined if there is none. The rule is that of the cgroup's
 * limit.
 */
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
 * Returns the smallest limit that applies (upstream: emptydir, calculateEmptyDirMemorySize), or undefined without one;
 * the kernel then uses half of the memory.
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
  /** Returns the node's allocatable memory; 0 when unknown. */
  readonly nodeAllocatableMemoryBytes: () => number;
}

/**
 * Mounts memory-backed volumes, and keeps them out of swap if the kernel supports it. If it does not and swap is on, a
 * node event reports it once.
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

  /** Records the warning in upstream's words (container_manager_linux.go), when the first such volume is set up. */
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
