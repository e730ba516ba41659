import { readdirSync, readFileSync } from 'node:fs';
import os from 'node:os';
import type { MachineIdentity } from '../../ports/stats.ts';

/** Reads the identity once at the start. Unavailable values are empty or 0. */
export function readMachineIdentity(proc = '/proc', sys = '/sys', etc = '/etc'): MachineIdentity {
  const cpus = parseCpus(readOrEmpty(`${proc}/cpuinfo`));
  const memory = readOrEmpty(`${proc}/meminfo`);
  const kilobytes = (key: string): number =>
    Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(memory)?.[1] ?? 0) * 1024;
  return {
    machineId: readOrEmpty(`${etc}/machine-id`) || readOrEmpty('/var/lib/dbus/machine-id'),
    systemUuid:
      readOrEmpty(`${sys}/class/dmi/id/product_uuid`) ||
      readOrEmpty(`${proc}/device-tree/system-id`) ||
      readOrEmpty(`${etc}/machine-id`),
    bootId: readOrEmpty(`${proc}/sys/kernel/random/boot_id`),
    osVersion: /^PRETTY_NAME="?([^"\n]*)"?$/m.exec(readOrEmpty(`${etc}/os-release`))?.[1] ?? 'Unknown',
    kernelVersion: os.release(),
    bootedAtMs: Number(/^btime (\d+)/m.exec(readOrEmpty(`${proc}/stat`))?.[1] ?? 0) * 1000,
    ...cpus,
    memoryBytes: kilobytes('MemTotal'),
    swapBytes: kilobytes('SwapTotal'),
  };
}

/**
 * Counts the cores. They are identified by their socket and their number in it. On machines without both, each
 * processor counts as a core.
 */
export function parseCpus(cpuinfo: string): Pick<MachineIdentity, 'cores' | 'physicalCores' | 'sockets'> {
  const blocks = cpuinfo.split(/\n\n+/).filter((block) => /^processor\s*:/m.test(block));
  const field = (block: string, name: string): string | undefined =>
    new RegExp(`^${name}\\s*:\\s*(\\S+)`, 'm').exec(block)?.[1];
  const sockets = new Set(blocks.map((block) => field(block, 'physical id') ?? '0'));
  const physical = new Set(
    blocks.map((block, index) => `${field(block, 'physical id') ?? '0'}/${field(block, 'core id') ?? String(index)}`),
  );
  return { cores: blocks.length, physicalCores: physical.size, sockets: blocks.length === 0 ? 0 : sockets.size };
}

/**
 * Returns the group of a process if its CPU and memory groups are the same (upstream: getContainer) and not the root.
 */
export function parseProcessGroup(text: string): string | undefined {
  const paths = new Map(
    text.split('\n').flatMap((line) => {
      const [, controllers = '', path] = line.split(':');
      return path === undefined ? [] : controllers.split(',').map((controller) => [controller, path] as const);
    }),
  );
  const path = paths.has('memory')
    ? paths.get('memory') === paths.get('cpu')
      ? paths.get('cpu')
      : undefined
    : paths.get('');
  return path === '/' ? undefined : path;
}

export function groupOfProcess(pid: number | 'self', proc = '/proc'): string | undefined {
  return parseProcessGroup(readOrEmpty(`${proc}/${pid}/cgroup`));
}

/** Returns the first process with this name; undefined if there is none. */
export function processNamed(name: string, proc = '/proc'): number | undefined {
  const pids = readdirSync(proc)
    .filter((entry) => /^\d+$/.test(entry))
    .map(Number);
  return pids.find((pid) => readOrEmpty(`${proc}/${pid}/comm`) === name);
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(/(?<![\n\0])[\n\0]+$/, '');
  } catch {
    return '';
  }
}
