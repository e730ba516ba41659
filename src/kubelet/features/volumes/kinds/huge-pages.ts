import type { Pod } from '../../../../api/core/pod.ts';
import { quantityValue } from '../../../../api/quantity.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { Mounts } from '../../../ports/mounts.ts';

const PREFIX = 'hugepages-';
const MEDIUM_PREFIX = 'HugePages-';

/**
 * Returns the page size of a volume as a quantity (upstream: empty_dir.go getPageSizeMountOption): that of the medium,
 * or the only size that the pod's containers request. Throws Invalid with a message for users.
 */
export function hugePageSizeOf(pod: Pod, medium: string): string {
  const requested = requestedSizes(pod);
  const wanted = medium.startsWith(MEDIUM_PREFIX) ? quantityValue(medium.slice(MEDIUM_PREFIX.length)) : undefined;
  const fitting = requested.filter((size) => wanted === undefined || quantityValue(size) === wanted);
  const [first] = fitting;
  if (first === undefined)
    throw new KubeletError(
      'Invalid',
      `medium ${medium}: hugePages storage requested, but there is no resource request for huge pages`,
    );
  if (fitting.some((size) => quantityValue(size) !== quantityValue(first)))
    throw new KubeletError('Invalid', `medium: ${medium} can't be used if container requests multiple huge page sizes`);
  return first;
}

/** Returns the requested page sizes. Limits count as requests, because for huge pages both must be equal. */
function requestedSizes({ spec }: Pod): string[] {
  return [spec, ...spec.containers, ...(spec.initContainers ?? [])]
    .flatMap(({ resources }) => Object.keys({ ...resources?.limits, ...resources?.requests }))
    .filter((name) => name.startsWith(PREFIX))
    .map((name) => name.slice(PREFIX.length));
}

/** Mounts volumes in huge pages. */
export class HugePages {
  readonly #mounts: Mounts;

  constructor(mounts: Mounts) {
    this.#mounts = mounts;
  }

  /** Mounts a hugetlbfs at an existing directory unless one is there. */
  async ensure(
    pod: Pod,
    path: string,
    how: { medium: string; sizeLimit: string | undefined; mounted: boolean | undefined },
  ): Promise<void> {
    const size = hugePageSizeOf(pod, how.medium);
    const mounted =
      how.mounted ??
      (await this.#mounts.listBelow(path)).some((mount) => mount.path === path && mount.fsType === 'hugetlbfs');
    if (mounted) return;
    const limitBytes = how.sizeLimit === undefined ? 0 : quantityValue(how.sizeLimit);
    await this.#mounts.mount(path, {
      fsType: 'hugetlbfs',
      source: 'nodev',
      options: [`pagesize=${size}`, ...(limitBytes > 0 ? [`size=${limitBytes}`] : [])],
    });
  }
}
