/** Finds and ends processes. A process is named by pid, start time and boot, so a reused pid is never mistaken for ours. */
import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { systemClock } from '../base/clock.ts';
import { isShimOf, parseParentPid, parseStartTicks } from './host-tables.ts';

export interface ProcessRecord {
  pid: number;
  startTicks: string;
  bootId: string;
}

const POLL_MS = 10;

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.setTimer(ms, resolve));
}

/** Asks `check` every few milliseconds until it says yes (true) or the time is over (false). */
export async function waitUntil(
  check: () => boolean | Promise<boolean>,
  timeoutMs: number,
  pollMs: number = POLL_MS,
): Promise<boolean> {
  const deadlineMs = systemClock.monotonicMs() + timeoutMs;
  for (;;) {
    if (await check()) return true;
    if (systemClock.monotonicMs() >= deadlineMs) return false;
    await pause(pollMs);
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // The process ended between listing and reading.
  }
}

/** Undefined once the process is gone; a zombie counts as gone. */
export function describeProcess(pid: number): ProcessRecord | undefined {
  const stat = readOrEmpty(`/proc/${pid}/stat`);
  if (stat === '' || /^[ZX]/.test(stat.slice(stat.lastIndexOf(')') + 2))) return undefined;
  const startTicks = parseStartTicks(stat);
  return startTicks === undefined ? undefined : { pid, startTicks, bootId: bootId() };
}

/** For people; `gone` once the process is. */
export function commandLine(record: ProcessRecord): string {
  return readOrEmpty(`/proc/${record.pid}/cmdline`).split('\0').join(' ').trim() || 'gone';
}

function bootId(): string {
  return readOrEmpty('/proc/sys/kernel/random/boot_id').trim();
}

export function isAlive(record: ProcessRecord | undefined): record is ProcessRecord {
  if (record === undefined) return false;
  const now = describeProcess(record.pid);
  return now !== undefined && now.startTicks === record.startTicks && now.bootId === record.bootId;
}

/** `undefined` if the file is missing or damaged: then there is no process to speak of. */
export function readProcessFile(path: string): ProcessRecord | undefined {
  if (!existsSync(path)) return undefined;
  try {
    const value = JSON.parse(readFileSync(path, 'utf8')) as Partial<ProcessRecord>;
    if (typeof value.pid === 'number' && typeof value.startTicks === 'string' && typeof value.bootId === 'string') {
      return { pid: value.pid, startTicks: value.startTicks, bootId: value.bootId };
    }
  } catch {
    return undefined; // Half-written when the machine went down.
  }
  return undefined;
}

export function writeProcessFile(path: string, pid: number): void {
  const record = describeProcess(pid);
  if (record !== undefined) writeFileSync(path, JSON.stringify(record));
}

/** True if this process now holds the file; false if a living process does. A dead holder's file is taken over. */
export function acquireProcessFile(path: string): boolean {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    try {
      writeFileSync(path, JSON.stringify(describeProcess(process.pid)), { flag: 'wx' });
      return true;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
    const holder = readProcessFile(path);
    if (isAlive(holder)) return holder.pid === process.pid;
    rmSync(path, { force: true });
  }
  return false;
}

export function signalProcess(record: ProcessRecord, signal: NodeJS.Signals): void {
  if (!isAlive(record)) return;
  try {
    process.kill(record.pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** SIGTERM, then after `graceMs` SIGKILL. Returns when it is gone, or after five more seconds (a process in the kernel's hands). */
export async function stopProcess(record: ProcessRecord | undefined, graceMs: number): Promise<void> {
  if (!isAlive(record)) return;
  signalProcess(record, 'SIGTERM');
  if (await waitUntil(() => !isAlive(record), graceMs)) return;
  signalProcess(record, 'SIGKILL');
  await waitUntil(() => !isAlive(record), 5000);
}

/** The living shims of the containerd on `socket`, and every descendant of theirs. */
export function findShims(socket: string): { shims: ProcessRecord[]; children: ProcessRecord[] } {
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const shims = pids.filter((pid) => isShimOf(readOrEmpty(`/proc/${pid}/cmdline`), socket));
  const parents = new Map(pids.map((pid) => [pid, parseParentPid(readOrEmpty(`/proc/${pid}/stat`))]));
  const isBelow = (pid: number): boolean => {
    for (let at = parents.get(pid); at !== undefined && at > 1; at = parents.get(at))
      if (shims.includes(at)) return true;
    return false;
  };
  const describe = (list: readonly number[]): ProcessRecord[] => list.flatMap((pid) => describeProcess(pid) ?? []);
  return { shims: describe(shims), children: describe(pids.filter((pid) => !shims.includes(pid) && isBelow(pid))) };
}
