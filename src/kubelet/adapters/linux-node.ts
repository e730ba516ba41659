import { existsSync, readFileSync, readdirSync } from 'node:fs';
import os from 'node:os';

/** What the kernel says of this machine, read once at start. */
export interface LinuxNode {
  hostname: string;
  cores: number;
  /** Numbers of the CPUs that are online, whatever this process may use of them. */
  onlineCpus: readonly number[];
  /** As Go and Kubernetes name it: `amd64`. */
  architecture: string;
  memoryBytes: number;
  swapBytes: number;
  /** As the kernel names them: `2MB`, `1GB`. */
  hugePageSizes: readonly string[];
  /** How much memory is set aside as huge pages of each size. */
  hugePages: readonly { sizeBytes: number; totalBytes: number }[];
  thermalThrottlePaths: readonly string[];
  selinuxEnabled: boolean;
  appArmorEnabled: boolean;
  /** As `uname -r` gives it. */
  kernelVersion: string;
  /** Of the installation; '' where there is none. */
  machineId: string;
  /** Of the hardware; '' where the firmware does not say. */
  systemUuid: string;
  /** New with each boot. */
  bootId: string;
  /** As the distribution names itself. */
  osImage: string;
  /** Wall time of the boot, in milliseconds; undefined where the kernel does not say. */
  bootedAtMs: number | undefined;
  /** Addresses of the interfaces that lead out, IPv4 first; loopback, link-local and container bridges left out. */
  addresses: readonly string[];
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

/** Where upstream's cadvisor looks (machine/info.go, utils/sysfs, operatingsystem_unix.go). `root` stands before each path. */
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
        : (/PRETTY_NAME=(.*)/.exec(release)?.[1]?.replaceAll(/^"+|"+$/g, '') ?? 'Linux'),
    bootedAtMs: booted === undefined ? undefined : Number(booted) * 1000,
  };
}

/** The content of the first file that can be read, without white space and zeros around it. */
function firstText(root: string, paths: readonly string[]): string | undefined {
  for (const path of paths) {
    try {
      return readFileSync(`${root}${path}`, 'utf8').replaceAll(/^[\s\0]+|[\s\0]+$/g, '');
    } catch {
      continue; // Machines differ in which of these they have.
    }
  }
  return undefined;
}

function readMeminfo(): (key: string) => number {
  const text = readFileSync('/proc/meminfo', 'utf8');
  return (key) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
}

/** Built in, and switched on at boot (upstream: third_party libcontainer/apparmor). */
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
    .filter(
      (address) => !address.internal && !address.address.startsWith('fe80:') && !address.address.startsWith('169.254.'),
    );
  return [
    ...own.filter((address) => address.family === 'IPv4'),
    ...own.filter((address) => address.family === 'IPv6'),
  ].map((address) => address.address);
}
