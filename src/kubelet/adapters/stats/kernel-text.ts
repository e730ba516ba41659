import type { DeviceCounts, DiskUse, InterfaceUse, IoOperation, Pressure, StallTimes } from '../../ports/stats.ts';

/**
 * Returns the number after `key ` at the beginning of a line; 0 if it is missing. It is much faster than splitting
 * files with a hundred lines.
 */
export function keyedNumber(text: string, key: string): number {
  const at = text.startsWith(`${key} `) ? 0 : text.indexOf(`\n${key} `) + 1;
  if (at === 0 && !text.startsWith(`${key} `)) return 0;
  return leadingNumber(text, at + key.length + 1);
}

function leadingNumber(text: string, from: number): number {
  let value = 0;
  for (let i = from; i < text.length; i++) {
    const digit = text.charCodeAt(i) - 48;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  return value;
}

/** Values above what the kernel can represent as a page count mean no limit (upstream: maxMemorySize). */
const UNLIMITED = 2 ** 62;

/** Parses a limit. `max`, -1 and values larger than any machine are Infinity. */
export function limitOf(text: string | undefined): number {
  if (text === undefined) return Infinity;
  const trimmed = text.trim();
  if (trimmed === 'max' || trimmed.startsWith('-')) return Infinity;
  const value = Number(trimmed);
  return value > UNLIMITED ? Infinity : value;
}

export function numberOf(text: string | undefined): number {
  return text === undefined ? 0 : leadingNumber(text, 0);
}

/** Parses `some avg10=0.00 avg60=0.00 avg300=0.00 total=0`, and the same with `full`. */
export function parsePressure(text: string | undefined): Pressure | undefined {
  if (text === undefined || !text.startsWith('some')) return undefined;
  const [some = '', full = ''] = text.split('\n');
  return { some: stallTimes(some), full: stallTimes(full) };
}

function stallTimes(line: string): StallTimes {
  const value = (key: string): number => {
    const at = line.indexOf(`${key}=`);
    return at === -1 ? 0 : Number.parseFloat(line.slice(at + key.length + 1));
  };
  return { totalUs: value('total'), avg10: value('avg10'), avg60: value('avg60'), avg300: value('avg300') };
}

export type DeviceName = (major: number, minor: number) => string;

const operationNames = new Set<string>(['Read', 'Write', 'Sync', 'Async', 'Discard', 'Total'] satisfies IoOperation[]);

/** Parses lines of cgroup v1, one per device and operation: `8:0 Read 4096`. */
export function parseBlkio(text: string | undefined, deviceName: DeviceName): DeviceCounts[] {
  const byDevice = new Map<string, Map<IoOperation, number>>();
  for (const line of (text ?? '').split('\n')) {
    const [device = '', operation = '', value] = line.split(' ');
    if (value === undefined || !operationNames.has(operation)) continue;
    const counts = byDevice.get(device) ?? new Map<IoOperation, number>();
    byDevice.set(device, counts.set(operation as IoOperation, Number(value)));
  }
  return [...byDevice].map(([device, counts]) => named(device, counts, deviceName));
}

/** Parses lines of cgroup v2, one per device: `8:0 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=5 dios=6`. */
export function parseIoStat(
  text: string | undefined,
  deviceName: DeviceName,
): { bytes: DeviceCounts[]; operations: DeviceCounts[] } {
  const bytes: DeviceCounts[] = [];
  const operations: DeviceCounts[] = [];
  for (const line of (text ?? '').split('\n')) {
    const [device = '', ...pairs] = line.split(' ');
    if (!device.includes(':')) continue;
    const values = new Map(pairs.map((pair) => pair.split('=') as [string, string]));
    const pick = (keys: Readonly<Record<string, IoOperation>>): Map<IoOperation, number> =>
      new Map(
        Object.entries(keys).flatMap(([key, operation]) =>
          values.has(key) ? [[operation, Number(values.get(key))] as const] : [],
        ),
      );
    bytes.push(named(device, pick({ rbytes: 'Read', wbytes: 'Write', dbytes: 'Discard' }), deviceName));
    operations.push(named(device, pick({ rios: 'Read', wios: 'Write', dios: 'Discard' }), deviceName));
  }
  return { bytes, operations };
}

function named(device: string, counts: ReadonlyMap<IoOperation, number>, deviceName: DeviceName): DeviceCounts {
  const [major = 0, minor = 0] = device.split(':').map(Number);
  return { device: deviceName(major, minor), major, minor, counts };
}

/** Loopback, and the host ends of veth pairs, say nothing about a pod (upstream: cAdvisor's ignoredDevicePrefixes). */
const ignoredInterfaces = /^(lo|veth|docker|nerdctl)/i;

/** Parses /proc/PID/net/dev. */
export function parseInterfaces(text: string): InterfaceUse[] {
  const found: InterfaceUse[] = [];
  for (const line of text.split('\n').slice(2)) {
    const colon = line.indexOf(':');
    if (colon === -1) continue;
    const name = line.slice(0, colon).trim();
    if (ignoredInterfaces.test(name)) continue;
    const [
      rxBytes = 0,
      rxPackets = 0,
      rxErrors = 0,
      rxDropped = 0,
      ,
      ,
      ,
      ,
      txBytes = 0,
      txPackets = 0,
      txErrors = 0,
      txDropped = 0,
    ] = line
      .slice(colon + 1)
      .trim()
      .split(/\s+/)
      .map(Number);
    found.push({ name, rxBytes, rxPackets, rxErrors, rxDropped, txBytes, txPackets, txErrors, txDropped });
  }
  return found;
}

/** Parses /proc/diskstats. */
export function parseDisks(text: string): (DiskUse & { major: number; minor: number })[] {
  return text.split('\n').flatMap((line) => {
    const [major, minor, name, ...rest] = line.trim().split(/\s+/);
    if (name === undefined || rest.length < 11) return [];
    const [
      reads = 0,
      readsMerged = 0,
      sectorsRead = 0,
      readMs = 0,
      writes = 0,
      writesMerged = 0,
      sectorsWritten = 0,
      writeMs = 0,
      inProgress = 0,
      ioMs = 0,
      weightedIoMs = 0,
    ] = rest.map(Number);
    return [
      {
        major: Number(major),
        minor: Number(minor),
        device: `/dev/${name}`,
        reads,
        readsMerged,
        sectorsRead,
        readMs,
        writes,
        writesMerged,
        sectorsWritten,
        writeMs,
        inProgress,
        ioMs,
        weightedIoMs,
      },
    ];
  });
}

/** Returns the soft limit of open files in /proc/PID/limits; -1 for none, undefined if it is missing. */
export function parseOpenFilesLimit(text: string): number | undefined {
  const soft = /^Max open files\s+(\S+)/m.exec(text)?.[1];
  if (soft === undefined) return undefined;
  return soft === 'unlimited' ? -1 : Number(soft);
}
