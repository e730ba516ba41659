/**
 * The data folder of `up`: checks that it is one, and knows which of its content belongs to `up`. `up` runs as root and
 * removes whole trees, so files of others must be kept.
 */
import type { Stats } from 'node:fs';
import { existsSync, lstatSync, mkdirSync, readdirSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { errnoOf, KubeletError } from '../base/errors.ts';
import { selectMountsBelow } from './host-tables.ts';
import type { Instance } from './instance.ts';
import { endpointFile } from './instance.ts';

const MARKER = '.kubelet-ts';
const MARKER_TEXT = 'This folder belongs to "npm run up"; "npm run down -- --purge" removes what up has made in it.\n';
/** Entries that a user may create before the first `up`. */
const prepared = new Set(['manifests', 'static-pods']);
const OTHERS_WRITE = 0o022;
const STICKY = 0o1000;

/** Names that `up` creates in the folder. */
function ownEntries(instance: Instance): Set<string> {
  const paths = Object.values(instance as unknown as Record<string, unknown>).filter(
    (value): value is string => typeof value === 'string' && value.startsWith(`${instance.dataDir}/`),
  );
  return new Set([
    MARKER,
    'overlay-probe',
    ...paths.map((path) => path.slice(instance.dataDir.length + 1).split('/')[0] ?? ''),
  ]);
}

/**
 * Creates the folder, or checks an existing one. Throws `Invalid` when other users could change what root does in it,
 * or when it contains entries that `up` did not create.
 */
export function claimDataFolder(instance: Instance): void {
  mkdirSync(instance.dataDir, { recursive: true });
  checkDataFolder(instance);
  if (!existsSync(join(instance.dataDir, MARKER))) writeFileSync(join(instance.dataDir, MARKER), MARKER_TEXT);
}

/** Checks the folder without creating it. A missing folder is valid. */
export function checkDataFolder(instance: Instance): void {
  const { dataDir } = instance;
  if (!existsSync(dataDir)) return;
  const weak = pathTo(dataDir).find((path) => mayOthersChange(lstatSync(path), path !== dataDir));
  if (weak !== undefined)
    throw new KubeletError(
      'Invalid',
      `${weak} can be changed by others than root: ${fixFor(lstatSync(weak))} ${weak}, or choose another data folder with --data`,
    );
  if (isDataFolder(dataDir)) return;
  const others = readdirSync(dataDir).slice(0, 3).join(', ');
  throw new KubeletError(
    'Invalid',
    `${dataDir} is not empty (${others}, ...) and was not made by up: choose another folder with --data, or make this one its own with: touch ${join(dataDir, MARKER)}`,
  );
}

const pathTo = (path: string): string[] => (path === '/' ? ['/'] : [...pathTo(dirname(path)), path]);

/** In a folder with the sticky bit other users can add entries, but cannot replace those of root. */
function mayOthersChange({ uid, mode }: Stats, mayBeSticky: boolean): boolean {
  if (uid !== 0 && uid !== process.geteuid?.()) return true;
  return (mode & OTHERS_WRITE) !== 0 && !(mayBeSticky && (mode & STICKY) !== 0);
}

/** What the user must do about it. */
const fixFor = ({ uid, mode }: Stats): string =>
  [
    ...(uid !== 0 && uid !== process.geteuid?.() ? ['chown root'] : []),
    ...((mode & OTHERS_WRITE) !== 0 ? ['chmod go-w'] : []),
  ].join(' and ');

function isDataFolder(dataDir: string): boolean {
  const names = readdirSync(dataDir);
  return names.includes(MARKER) || names.every((name) => prepared.has(name)) || isOfOlderVersion(dataDir);
}

/** For folders from before the marker existed. */
function isOfOlderVersion(dataDir: string): boolean {
  if (existsSync(join(dataDir, 'cluster.json'))) return true;
  const config = join(dataDir, 'containerd', 'config.toml');
  return existsSync(config) && readFileSync(config, 'utf8').startsWith('# Written by kubelet-ts');
}

const mountsFile = (instance: Instance): string => join(instance.runDir, 'mounts-before.json');

/**
 * Must be called before a run mounts anything. Mounts that already exist in the folder, for example a disk, belong to
 * others.
 */
export function noteMountsBefore(instance: Instance, mountInfo = readMountInfo()): void {
  if (!existsSync(instance.dataDir) || existsSync(mountsFile(instance)) || existsSync(endpointFile(instance))) return;
  mkdirSync(instance.runDir, { recursive: true });
  writeFileSync(mountsFile(instance), JSON.stringify(mountsBelow(instance, mountInfo)));
}

const readMountInfo = (): string => readFileSync('/proc/self/mountinfo', 'utf8');
const mountsBelow = ({ dataDir }: Instance, mountInfo: string): string[] =>
  selectMountsBelow(mountInfo, dataDir).filter((point) => point !== dataDir);

function mountsOfOthers(instance: Instance): Set<string> {
  try {
    const points: unknown = JSON.parse(readFileSync(mountsFile(instance), 'utf8'));
    return new Set(Array.isArray(points) ? points.map(String) : []);
  } catch {
    return new Set(); // Not recorded: all of them are ours.
  }
}

/** The mounts of this run in the folder, deepest first. */
export function ownMounts(instance: Instance, mountInfo = readMountInfo()): string[] {
  const others = mountsOfOthers(instance);
  return mountsBelow(instance, mountInfo).filter((point) => !others.has(point));
}

/**
 * Removes what `up` created in the folder, and the folder if it is empty then. Returns the entries that `up` did not
 * create. All our mounts must be gone. Entries that a second, waiting `down` creates meanwhile are left to it.
 */
export function purgeDataFolder(instance: Instance, mountInfo = readMountInfo()): string[] {
  const { dataDir } = instance;
  if (!existsSync(dataDir)) return [];
  const own = ownEntries(instance);
  const mounts = mountsBelow(instance, mountInfo);
  // Removing it would delete the content of a mount.
  const isOurs = (name: string): boolean => {
    const path = join(dataDir, name);
    return own.has(name) && !mounts.some((point) => point === path || point.startsWith(`${path}/`));
  };
  for (const name of readdirSync(dataDir)) {
    if (isOurs(name)) rmSync(join(dataDir, name), { recursive: true, force: true, maxRetries: 3, retryDelay: 10 });
  }
  const left = readdirSync(dataDir)
    .filter((name) => !isOurs(name))
    .map((name) => join(dataDir, name));
  const isMountPoint = selectMountsBelow(mountInfo, dataDir).includes(dataDir);
  if (left.length === 0 && !isMountPoint) {
    try {
      rmdirSync(dataDir);
    } catch (error) {
      if (!['ENOTEMPTY', 'ENOENT'].includes(errnoOf(error) ?? '')) throw error;
    }
  }
  return left;
}
