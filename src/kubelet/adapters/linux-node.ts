import { existsSync, readFileSync, readdirSync } from 'node:fs';
import os from 'node:os';

/** What the kernel says of this machine, read once at start. */
export interface LinuxNode {
  hostname: string;
  cores: number;
  memoryBytes: number;
  swapBytes: number;
  /** As the kernel names them: `2MB`, `1GB`. */
  hugePageSizes: readonly string[];
  thermalThrottlePaths: readonly string[];
  selinuxEnabled: boolean;
  appArmorEnabled: boolean;
  /** As `uname -r` gives it. */
  kernelVersion: string;
  /** Addresses of the interfaces that lead out, IPv4 first; loopback, link-local and container bridges left out. */
  addresses: readonly string[];
}

export function readLinuxNode(): LinuxNode {
  const memory = readMeminfo();
  return {
    hostname: os.hostname().trim().toLowerCase(),
    cores: os.availableParallelism(),
    memoryBytes: memory('MemTotal'),
    swapBytes: memory('SwapTotal'),
    hugePageSizes: hugePageSizes(),
    thermalThrottlePaths: thermalThrottlePaths(),
    selinuxEnabled: existsSync('/sys/fs/selinux/enforce'),
    appArmorEnabled: appArmorEnabled(),
    kernelVersion: os.release(),
    addresses: outwardAddresses(),
  };
}

function readMeminfo(): (key: string) => number {
  const text = readFileSync('/proc/meminfo', 'utf8');
  return (key) => Number(new RegExp(`^${key}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? 0) * 1024;
}

/** Built in, and switched on at boot (upstream: third_party libcontainer/apparmor). */
function appArmorEnabled(): boolean {
  const parameter = '/sys/module/apparmor/parameters/enabled';
  return existsSync('/sys/kernel/security/apparmor') && existsSync(parameter) && readFileSync(parameter, 'utf8').startsWith('Y');
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
    .filter((address) => !address.internal && !address.address.startsWith('fe80:') && !address.address.startsWith('169.254.'));
  return [...own.filter((address) => address.family === 'IPv4'), ...own.filter((address) => address.family === 'IPv6')].map((address) => address.address);
}
