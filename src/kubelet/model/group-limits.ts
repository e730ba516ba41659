import type { ResourceList } from '../../api/core/resource-requirements.ts';
import { quantityMilliValue, quantityValue } from '../../api/quantity.ts';
import { isHugePageResource } from '../../api/resources.ts';
import { sharesOfMilliCpu } from './cpu-units.ts';

/** Returns the kernel's notation of a page size in file names: `2MB`, `1GB`. */
export function hugePageFileName(sizeBytes: number): string {
  const [unit, name] =
    sizeBytes >= 2 ** 30 ? [2 ** 30, 'GB'] : sizeBytes >= 2 ** 20 ? [2 ** 20, 'MB'] : [2 ** 10, 'KB'];
  return `${sizeBytes / unit}${name}`;
}

/** The part of a cgroup's limits that is derived from resources. A missing limit means no limit. */
export interface GroupLimits {
  cpuShares?: number;
  memoryBytes?: number;
  pidsMax?: number;
  /** The limits of huge pages by the kernel's notation of their size. */
  hugetlbBytes?: Readonly<Record<string, number>>;
}

/**
 * Returns the limits of a cgroup that may use these resources: that of all pods, or a reserved one. Only the given
 * resources are limited (upstream: cm/node_container_manager_linux.go getCgroupConfigInternal). `compressible` limits
 * CPU alone.
 */
export function groupLimitsOf(resources: ResourceList, compressible = false): GroupLimits {
  const limits: GroupLimits = {};
  const { cpu, memory, pid } = resources;
  if (cpu !== undefined) limits.cpuShares = sharesOfMilliCpu(quantityMilliValue(cpu));
  if (compressible) return limits;
  if (memory !== undefined) limits.memoryBytes = quantityValue(memory);
  if (pid !== undefined) limits.pidsMax = quantityValue(pid);
  const pages = Object.entries(resources).filter(([name]) => isHugePageResource(name));
  if (pages.length > 0)
    limits.hugetlbBytes = Object.fromEntries(
      pages.map(([name, amount]) => [
        hugePageFileName(quantityValue(name.slice('hugepages-'.length))),
        quantityValue(amount),
      ]),
    );
  return limits;
}
