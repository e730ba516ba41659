import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { parseCpuSet } from '../model/cpu-set.ts';
import type { CpuCore, MachineTopology, NumaNode } from '../model/machine-topology.ts';

/** Caches of a higher level than this are shared between cores. */
const PRIVATE_CACHE_LEVEL = 2;

/**
 * Reads the kernel's folders that upstream's cadvisor reads (utils/sysinfo GetNodesInfo). As there, a kernel without
 * NUMA has one node per socket. `root` is a prefix of each path. Offline CPUs are left out.
 */
export function readMachineTopology(root = '', memoryBytes = 0): MachineTopology {
  const nodeDir = `${root}/sys/devices/system/node`;
  const ids = numbered(nodeDir, /^node(\d+)$/);
  if (ids.length === 0) return { nodes: nodesOfSockets(root, memoryBytes) };
  return { nodes: ids.map((id) => readNode(root, `${nodeDir}/node${id}`, id)) };
}

function readNode(root: string, dir: string, id: number): NumaNode {
  return {
    id,
    cores: readCores(root, numbered(dir, /^cpu(\d+)$/)),
    memoryBytes: Number(/MemTotal:\s+(\d+) kB/.exec(textOf(`${dir}/meminfo`))?.[1] ?? 0) * 1024,
    hugePages: numbered(`${dir}/hugepages`, /^hugepages-(\d+)kB$/).map((kilobytes) => ({
      sizeBytes: kilobytes * 1024,
      count: Number(textOf(`${dir}/hugepages/hugepages-${kilobytes}kB/nr_hugepages`) || 0),
    })),
    distances: textOf(`${dir}/distance`).split(/\s+/).filter(Boolean).map(Number),
  };
}

function nodesOfSockets(root: string, memoryBytes: number): NumaNode[] {
  const cores = readCores(root, numbered(`${root}/sys/devices/system/cpu`, /^cpu(\d+)$/));
  const sockets = [...new Set(cores.map(({ socketId }) => socketId))].sort((left, right) => left - right);
  return sockets.map((id) => ({
    id,
    cores: cores.filter(({ socketId }) => socketId === id),
    memoryBytes: sockets.length === 1 ? memoryBytes : 0,
    hugePages: [],
    distances: [],
  }));
}

/** Returns the cores of one NUMA node, in the order of their lowest CPU. */
function readCores(root: string, cpus: readonly number[]): CpuCore[] {
  const found = new Map<string, { socketId: number; cpus: number[] }>();
  for (const cpu of cpus) {
    const dir = `${root}/sys/devices/system/cpu/cpu${cpu}`;
    // The first CPU may have no such file, because it cannot be switched off.
    if (textOf(`${dir}/online`) === '0') continue;
    const [core, socket] = [textOf(`${dir}/topology/core_id`), textOf(`${dir}/topology/physical_package_id`)];
    if (core === '' || socket === '') continue;
    const known = found.get(`${socket}/${core}`);
    if (known === undefined) found.set(`${socket}/${core}`, { socketId: Number(socket), cpus: [cpu] });
    else known.cpus.push(cpu);
  }
  const cores = [...found.values()];
  const total = cores.reduce((sum, core) => sum + core.cpus.length, 0);
  return cores.map((core) => ({ ...core, uncoreCacheId: uncoreCacheOf(root, core.cpus[0] ?? 0, total) }));
}

/**
 * Returns the last-level cache of a CPU; undefined if all CPUs of the node share it, because it then gives no
 * preference.
 */
function uncoreCacheOf(root: string, cpu: number, cpusOfNode: number): number | undefined {
  const dir = `${root}/sys/devices/system/cpu/cpu${cpu}/cache`;
  for (const index of numbered(dir, /^index(\d+)$/)) {
    if (Number(textOf(`${dir}/index${index}/level`)) <= PRIVATE_CACHE_LEVEL) continue;
    const sharing = parseCpuSet(textOf(`${dir}/index${index}/shared_cpu_list`)) ?? [];
    const id = textOf(`${dir}/index${index}/id`);
    if (id !== '' && sharing.length !== cpusOfNode) return Number(id);
  }
  return undefined;
}

/** Returns the numbers in the matching names of a folder's entries, ascending. */
function numbered(dir: string, pattern: RegExp): number[] {
  if (!existsSync(dir)) return [];
  return readdirSync(dir)
    .flatMap((name) => {
      const match = pattern.exec(name);
      return match === null ? [] : [Number(match[1])];
    })
    .sort((left, right) => left - right);
}

/** Reads a file; '' if it cannot be read. Which files exist depends on the kernel and the architecture. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
