import { existsSync, readFileSync, readdirSync } from 'node:fs';
import os from 'node:os';
import { isOutward } from '../../base/ip-address.ts';
import type { MachineFacts } from '../ports/machine-facts.ts';

/** The kernel's facts about this machine, read once at the start. */
export interface LinuxNode
  extends Omit<MachineFacts, 'nodeName' | 'rootStorageBytes' | 'hugePageSizesBytes' | 'workingDir' | 'homeDir'> {
  readonly hostname: string;
}

export function readLinuxNode(): LinuxNode {
  const memory = readMeminfo();
  return {
    hostname: os.hostname().trim().toLowerCase(),
    cores: os.availableParallelism(),
    onlineCpus: onlineCpus(),
    architecture: goArchitectures[process.arch] ?? process.arch,
    memoryBytes: memory('MemTotal'),
    swapBytes: memory('SwapTotal'),
    ...maxPids(),
    hugePageSizes: hugePageSizes(),
    hugePages: hugePages(),
    thermalThrottlePaths: thermalThrottlePaths(),
    selinuxEnabled: existsSync('/sys/fs/selinux/enforce'),
    appArmorEnabled: appArmorEnabled(),
    kernelVersion: os.release(),
    ...readIdentity(),
    addresses: outwardAddresses(),
  };
}

/**
 * Reads the files that upstream's cadvisor reads (machine/info.go, utils/sysfs, operatingsystem_unix.go). `root` is a
 * prefix of each path.
 */
export function readIdentity(
  root = '',
): Pick<LinuxNode, 'machineId' | 'systemUuid' | 'bootId' | 'osImage' | 'bootedAtMs'> {
  const release = firstText(root, ['/etc/os-release', '/usr/lib/os-release']);
  const booted = /^btime (\d+)$/m.exec(firstText(root, ['/proc/stat']) ?? '')?.[1];
  return {
    machineId: firstText(root, ['/etc/machine-id', '/var/lib/dbus/machine-id']) ?? '',
    systemUuid:
      firstText(root, [
        '/sys/class/dmi/id/product_uuid',
        '/proc/device-tree/system-id',
        '/proc/device-tree/vm,uuid',
        '/etc/machine-id',
      ]) ?? '',
    bootId: firstText(root, ['/proc/sys/kernel/random/boot_id']) ?? '',
    osImage:
      release === undefined
        ? 'Unknown'
        : (/PRETTY_NAME=(.*)/.exec(release)?.[1]?.replaceAll(/^"+|(?<!")"+$/g, '') ?? 'Linux'),
    bootedAtMs: booted === undefined ? undefined : Number(booted) * 1000,
  };
}

/** Returns the maximum number of processes (upstream: stats/pidlimit/pidlimit_linux.go). */
export function maxPids(proc = '/proc'): Pick<MachineFacts, 'maxPids'> {
  const limits = ['pid_max', 'threads-max'].flatMap((name) => {
    const limit = Number(firstText('', [`${proc}/sys/kernel/${name}`]) ?? Number.NaN);
    return Number.isSafeInteger(limit) && limit > 0 ? [limit] : [];
  });
  return limits.length === 0 ? {} : { maxPids: Math.min(...limits) };
}

/** Returns the content of the first readable file, without surrounding white space and zeros. */
function firstText(root: string, paths: readonly string[]): string | undefined {
  for (const path of paths) {
    try {
      return readFileSync(`${root}${path}`, 'utf8').replaceAll(/^[\s\0]+|(?<![\s\0])[\s\0]+$/g, '');
    } catch {
      continue; // Which of these exist depends on the machine.
    }
  }
  return undefined;
}

function readMeminfo(): (key: string) => number {
  const text = readFileSync('/proc/meminfo', 'utf8');
  return (key) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
}

/** Whether AppArmor is built in and was enabled at boot (upstream: third_party libcontainer/apparmor). */
function appArmorEnabled(): boolean {
  const parameter = '/sys/module/apparmor/parameters/enabled';
  return (
    existsSync('/sys/kernel/security/apparmor') &&
    existsSync(parameter) &&
    readFileSync(parameter, 'utf8').startsWith('Y')
  );
}

function listOrEmpty(path: string): string[] {
  return existsSync(path) ? readdirSync(path) : [];
}

function hugePageSizes(): string[] {
  return listOrEmpty('/sys/kernel/mm/hugepages').flatMap((name) => {
    const kilobytes = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0);
    if (kilobytes === 0) return [];
    if (kilobytes % (1024 * 1024) === 0) return [`${kilobytes / (1024 * 1024)}GB`];
    return [kilobytes % 1024 === 0 ? `${kilobytes / 1024}MB` : `${kilobytes}KB`];
  });
}

function hugePages(folder = '/sys/kernel/mm/hugepages'): { sizeBytes: number; totalBytes: number }[] {
  return listOrEmpty(folder).flatMap((name) => {
    const sizeBytes = Number(/^hugepages-(\d+)kB$/.exec(name)?.[1] ?? 0) * 1024;
    return sizeBytes === 0
      ? []
      : [{ sizeBytes, totalBytes: sizeBytes * Number(readFileSync(`${folder}/${name}/nr_hugepages`, 'utf8').trim()) }];
  });
}

const goArchitectures: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386', ppc64: 'ppc64le' };

function onlineCpus(): number[] {
  const path = '/sys/devices/system/cpu/online';
  const listed = existsSync(path) ? readFileSync(path, 'utf8').trim() : '';
  if (listed === '') return [...Array(os.availableParallelism()).keys()];
  return listed.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number);
    return Array.from({ length: last - first + 1 }, (_, index) => first + index);
  });
}

function thermalThrottlePaths(): string[] {
  const cpus = '/sys/devices/system/cpu';
  return listOrEmpty(cpus)
    .filter((name) => /^cpu\d+$/.test(name))
    .map((name) => `${cpus}/${name}/thermal_throttle`)
    .filter((path) => existsSync(path));
}

function outwardAddresses(): string[] {
  const own = Object.entries(os.networkInterfaces())
    .filter(([name]) => !/^(veth|cni|docker|br-|kts|kubelet)/.test(name))
    .flatMap(([, addresses]) => addresses ?? [])
    .filter(({ internal, address }) => !internal && isOutward(address));
  return [
    ...own.filter((address) => address.family === 'IPv4'),
    ...own.filter((address) => address.family === 'IPv6'),
  ].map((address) => address.address);
}
