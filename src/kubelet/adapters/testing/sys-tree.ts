import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatCpuSet } from '../../model/cpu-set.ts';
import type { CpuCore, MachineTopology } from '../../model/machine-topology.ts';

/**
 * Writes the files below /sys that the agent reads, as the kernel of such a machine would have them. `offline` CPUs
 * exist and are switched off.
 */
export function writeSysTree(root: string, { nodes }: MachineTopology, offline: readonly number[] = []): void {
  const write = (path: string, text: string | number): void => {
    const file = join(root, 'sys/devices/system', path);
    mkdirSync(join(file, '..'), { recursive: true });
    writeFileSync(file, `${text}\n`);
  };
  for (const { id, cores, memoryBytes, hugePages, distances } of nodes) {
    write(`node/node${id}/meminfo`, `Node ${id} MemTotal:       ${memoryBytes / 1024} kB\nNode ${id} MemFree:  1 kB`);
    write(`node/node${id}/distance`, distances.join(' '));
    for (const { sizeBytes, count } of hugePages)
      write(`node/node${id}/hugepages/hugepages-${sizeBytes / 1024}kB/nr_hugepages`, count);
    const all = cores.flatMap(({ cpus }) => cpus);
    for (const [index, core] of cores.entries()) {
      for (const cpu of core.cpus) {
        mkdirSync(join(root, `sys/devices/system/node/node${id}/cpu${cpu}`), { recursive: true });
        writeCpu(write, { cpu, core, index, sharing: sharingOf(core, cores, all) });
      }
    }
  }
  for (const cpu of offline) write(`cpu/cpu${cpu}/online`, 0);
}

function sharingOf(core: CpuCore, cores: readonly CpuCore[], all: readonly number[]): readonly number[] {
  if (core.uncoreCacheId === undefined) return all;
  return cores.flatMap(({ uncoreCacheId, cpus }) => (uncoreCacheId === core.uncoreCacheId ? cpus : []));
}

function writeCpu(
  write: (path: string, text: string | number) => void,
  { cpu, core, index, sharing }: { cpu: number; core: CpuCore; index: number; sharing: readonly number[] },
): void {
  if (cpu > 0) write(`cpu/cpu${cpu}/online`, 1);
  // The kernel counts cores from the start in each socket, with gaps.
  write(`cpu/cpu${cpu}/topology/core_id`, Math.min(...core.cpus) * 2 + index);
  write(`cpu/cpu${cpu}/topology/physical_package_id`, core.socketId);
  const caches = [
    { level: 1, id: cpu, cpus: core.cpus },
    { level: 2, id: cpu, cpus: core.cpus },
    { level: 3, id: core.uncoreCacheId ?? 0, cpus: sharing },
  ];
  for (const [at, { level, id, cpus }] of caches.entries()) {
    write(`cpu/cpu${cpu}/cache/index${at}/level`, level);
    write(`cpu/cpu${cpu}/cache/index${at}/id`, id);
    write(`cpu/cpu${cpu}/cache/index${at}/shared_cpu_list`, formatCpuSet(cpus));
  }
}
