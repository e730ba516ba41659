/**
 * Records what the instances and other engines of a machine share, and what of it existed before the first instance.
 * The record is in /run, so a reboot clears it together with the kernel's tables.
 */
import { existsSync, mkdirSync, readFileSync, readlinkSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf, KubeletError } from '../base/errors.ts';
import type { KernelSettings } from './kernel-settings.ts';
import { acquireProcessFile, waitUntil } from './processes.ts';

const FOLDER = '/run/kubelet-ts';
const LOCK_WAIT_MS = 30_000;

export type IptablesProgram = 'iptables' | 'ip6tables';

export interface MachineRecord {
  /** In the notation of `sharedChains`. */
  readonly chains: Readonly<Record<IptablesProgram, readonly string[]>>;
  /** Folders outside of all data folders. */
  readonly folders: readonly string[];
  readonly settings: KernelSettings;
}

/**
 * Runs one at a time across all processes of the machine, so that a last instance that stops and a first one that
 * starts agree on which instances exist.
 */
export async function withMachineLock<T>(work: () => Promise<T>, folder: string = FOLDER): Promise<T> {
  const lock = join(folder, 'lock');
  if (!(await waitUntil(() => tryLock(folder, lock), LOCK_WAIT_MS, 50)))
    throw new KubeletError('Timeout', `another up or down holds ${lock}`, { op: 'lock' });
  try {
    return await work();
  } finally {
    rmSync(lock, { force: true });
    removeWhenEmpty(folder);
  }
}

function tryLock(folder: string, lock: string): boolean {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    return acquireProcessFile(lock);
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return false; // The previous holder has just removed the folder.
    throw error;
  }
}

function removeWhenEmpty(folder: string): void {
  try {
    rmdirSync(folder);
  } catch (error) {
    if (!['ENOTEMPTY', 'ENOENT'].includes(errnoOf(error) ?? '')) throw error;
  }
}

/** The network namespace of this process: the tables belong to it. */
const recordFile = (folder: string): string =>
  join(folder, `shared-before-${/\d+/.exec(readlinkSync('/proc/self/ns/net'))?.[0] ?? ''}.json`);

/** Undefined when it is unknown. Then everything shared is treated as belonging to others. */
export function readMachineRecord(folder: string = FOLDER): MachineRecord | undefined {
  try {
    const text = readFileSync(recordFile(folder), 'utf8');
    const { chains, folders, settings = {} } = JSON.parse(text) as Partial<MachineRecord>;
    return Array.isArray(chains?.iptables) && Array.isArray(chains.ip6tables) && Array.isArray(folders)
      ? { chains, folders, settings }
      : undefined;
  } catch {
    return undefined; // Missing, or incomplete after a crash of the machine.
  }
}

export function writeMachineRecord(record: MachineRecord, folder: string = FOLDER): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(recordFile(folder), JSON.stringify(record), { mode: 0o600 });
}

export function removeMachineRecord(folder: string = FOLDER): void {
  rmSync(recordFile(folder), { force: true });
}

/** The existing folder and its parents. */
export function existingFolders(folder: string): string[] {
  return [folder, dirname(folder)].filter((each) => existsSync(each));
}
