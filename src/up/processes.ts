/**
 * Finds and ends processes. A process is named by pid, start time and boot, so a reused pid is never mistaken for ours.
 */
import { errnoOf } from '../base/errors.ts';
import {
  existsSync,
  linkSync,
  readdirSync,
  readlinkSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import { hasOption, isKubelet, isShimOf, parseParentPid, parseStartTicks } from './host-tables.ts';
import type { LockFiles } from './process-file.ts';
import { takeProcessFile } from './process-file.ts';

export interface ProcessRecord {
  readonly pid: number;
  readonly startTicks: string;
  readonly bootId: string;
}

const POLL_MS = 10;

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void systemClock.setTimer(ms, resolve));
}

/** Calls `check` every few milliseconds until it returns true (result true) or the time is over (result false). */
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

/** `undefined` if the file is missing or damaged: then no process is known. */
export function readProcessFile(path: string): ProcessRecord | undefined {
  return existsSync(path) ? parseRecord(readOrEmpty(path)) : undefined;
}

function parseRecord(text: string): ProcessRecord | undefined {
  try {
    const value = JSON.parse(text) as Partial<ProcessRecord> | null;
    if (
      Number.isSafeInteger(value?.pid) &&
      (value?.pid ?? 0) > 0 &&
      typeof value?.startTicks === 'string' &&
      typeof value.bootId === 'string'
    ) {
      return { pid: value.pid as number, startTicks: value.startTicks, bootId: value.bootId };
    }
  } catch {
    return undefined; // Incomplete after a crash of the machine.
  }
  return undefined;
}

export function writeProcessFile(path: string, pid: number): void {
  const record = describeProcess(pid);
  if (record !== undefined) writeFileSync(path, JSON.stringify(record));
}

/**
 * True if this process now holds the file; false if a living process does, or is about to. The file of a dead holder is
 * taken over by one of the contenders.
 */
export function acquireProcessFile(path: string): boolean {
  const taking = takeProcessFile(path, JSON.stringify(describeProcess(process.pid)), {
    files: lockFiles,
    isAlive: (content) => isAlive(parseRecord(content)),
  });
  let step = taking.next();
  while (step.done !== true) step = taking.next();
  if (step.value) removeRemains(path);
  return step.value;
}

const lockFiles: LockFiles = {
  read: (path) => {
    try {
      return readFileSync(path, 'utf8');
    } catch (error) {
      if (errnoOf(error) === 'ENOENT') return undefined;
      throw error;
    }
  },
  // Other processes see the file only with its full content.
  create: (path, content) =>
    withTemporary(path, content, (temporary) => {
      try {
        linkSync(temporary, path);
        return true;
      } catch (error) {
        if (errnoOf(error) !== 'EEXIST') throw error;
        return false;
      }
    }),
  replace: (path, content) => withTemporary(path, content, (temporary) => renameSync(temporary, path)),
  remove: (path) => rmSync(path, { force: true }),
};

function withTemporary<T>(path: string, content: string, use: (temporary: string) => T): T {
  const temporary = `${path}.${process.pid}`;
  // Not a file that an earlier process with the same pid left, and not a symbolic link.
  rmSync(temporary, { force: true });
  writeFileSync(temporary, content, { flag: 'wx' });
  try {
    return use(temporary);
  } finally {
    rmSync(temporary, { force: true });
  }
}

/**
 * Removes files of contenders that died. Claims of dead processes only matter for the current content, and that is ours
 * now.
 */
function removeRemains(path: string): void {
  const [folder, name] = [dirname(path), basename(path)];
  for (const other of readdirSync(folder)) {
    const end = other.startsWith(`${name}.`) ? other.slice(name.length + 1) : '';
    const belongsToDeadProcess = /^\d+$/.test(end)
      ? describeProcess(Number(end)) === undefined
      : /^after-[0-9a-f]{16}$/.test(end) && !isAlive(parseRecord(lockFiles.read(join(folder, other)) ?? ''));
    if (belongsToDeadProcess) rmSync(join(folder, other), { force: true });
  }
}

export function signalProcess(record: ProcessRecord, signal: NodeJS.Signals): void {
  if (!isAlive(record)) return;
  try {
    process.kill(record.pid, signal);
  } catch (error) {
    if (errnoOf(error) !== 'ESRCH') throw error;
  }
}

/**
 * Sends SIGTERM, then SIGKILL after `graceMs`. Returns when the process is gone, or after five more seconds (it may
 * hang in the kernel).
 */
export async function stopProcess(record: ProcessRecord | undefined, graceMs: number): Promise<void> {
  if (!isAlive(record)) return;
  signalProcess(record, 'SIGTERM');
  if (await waitUntil(() => !isAlive(record), graceMs)) return;
  signalProcess(record, 'SIGKILL');
  await waitUntil(() => !isAlive(record), 5000);
}

/**
 * Finds a living process of this user with that option. Only processes in the same mount namespace count, because the
 * same path in a container is another one. The first match ends the search.
 */
export function findByOption(option: string, value: string): ProcessRecord | undefined {
  const files = namespaceOf('self', 'mnt');
  const isOwn = (pid: string): boolean =>
    statSync(`/proc/${pid}`, { throwIfNoEntry: false })?.uid === process.geteuid?.() &&
    namespaceOf(pid, 'mnt') === files;
  const pid = readdirSync('/proc').find(
    (name) => /^\d+$/.test(name) && hasOption(readOrEmpty(`/proc/${name}/cmdline`), option, value) && isOwn(name),
  );
  return pid === undefined ? undefined : describeProcess(Number(pid));
}

/** Empty once the process is gone. */
function namespaceOf(pid: string, kind: 'mnt' | 'net'): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/${kind}`);
  } catch {
    return ''; // The process ended between listing and reading.
  }
}

/** The living shims of the containerd on `socket`, and all their descendants. */
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

/** Whether a kubelet runs in the network namespace of this process: it maintains the chains that kubelets create. */
export function doesKubeletRun(): boolean {
  const own = namespaceOf('self', 'net');
  return readdirSync('/proc').some(
    (pid) => /^\d+$/.test(pid) && isKubelet(readOrEmpty(`/proc/${pid}/cmdline`)) && namespaceOf(pid, 'net') === own,
  );
}
