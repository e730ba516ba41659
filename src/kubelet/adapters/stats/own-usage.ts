import { readdirSync, readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import type { ProcessUsage } from '../../ports/process-usage.ts';

/** Reads the resource usage of this process, for /metrics. */
export function createOwnUsage(startedAtMs: number, proc = '/proc/self'): () => ProcessUsage {
  let last = performance.eventLoopUtilization();
  return () => {
    const statm = readOrEmpty(`${proc}/statm`).split(' ').map(Number);
    const limits = readOrEmpty(`${proc}/limits`);
    const limit = (name: string): number => {
      const soft = new RegExp(`^${name}\\s+(\\S+)`, 'm').exec(limits)?.[1];
      return soft === undefined || soft === 'unlimited' ? -1 : Number(soft);
    };
    const now = performance.eventLoopUtilization();
    const { utilization } = performance.eventLoopUtilization(now, last);
    last = now;
    const { user, system } = process.cpuUsage();
    const { heapTotal, heapUsed } = process.memoryUsage();
    return {
      cpuSeconds: (user + system) / 1e6,
      openFiles: countEntries(`${proc}/fd`),
      openFilesLimit: limit('Max open files'),
      residentBytes: (statm[1] ?? 0) * PAGE_BYTES,
      virtualBytes: (statm[0] ?? 0) * PAGE_BYTES,
      virtualLimitBytes: limit('Max address space'),
      startedAtMs,
      ...networkBytes(readOrEmpty(`${proc}/net/netstat`)),
      heapTotalBytes: heapTotal,
      heapUsedBytes: heapUsed,
      eventLoopUtilization: utilization,
    };
  };
}

const PAGE_BYTES = 4096;

/** Returns InOctets and OutOctets of IpExt, as Prometheus' client counts them. */
export function networkBytes(netstat: string): { receivedBytes: number; sentBytes: number } {
  const [names = [], values = []] = netstat
    .split('\n')
    .filter((line) => line.startsWith('IpExt:'))
    .map((line) => line.split(' '));
  const value = (name: string): number => Number(values[names.indexOf(name)] ?? 0);
  return { receivedBytes: value('InOctets'), sentBytes: value('OutOctets') };
}

function countEntries(folder: string): number {
  try {
    return readdirSync(folder).length;
  } catch {
    return 0;
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
