import path from 'node:path/posix';
import type { Clock, Timer } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Random } from '../../../base/random.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { FileInfo, HostFiles } from '../../ports/host-files.ts';
import { FolderWatch } from './folder-watch.ts';
import type { FileVersion } from './file-version.ts';
import { combineVersions, computeFileVersion, nothing, takesAway } from './file-version.ts';
import type { LastGoodManifests } from './last-good.ts';
import type { ManifestProblem, ManifestRules } from './manifest-reader.ts';
import { MANIFEST_LIMIT_BYTES, readManifest } from './manifest-reader.ts';
import type { ManifestObjects } from './manifest-objects.ts';
import { ManifestProblems } from './manifest-problems.ts';

/** A file that may still be written is read after this time without a change. */
const SETTLE_MS = 20;
/** A file that never becomes stable is read after this time. */
const LONGEST_SETTLE_MS = 2_000;
/**
 * A version that removes pods while the file may still be written must be stable for this long, because it may be
 * truncated.
 */
const TAKE_AWAY_MS = 1_000;
/** The time limit of stat and read of one file. A dead mount delays other files by at most EMIT_MS. */
const READ_LIMIT_MS = 5_000;
const EMIT_MS = 50;
/** How long a file that cannot be read at the start delays the cleanup of unknown pods. */
const INCOMPLETE_LIMIT_MS = 60_000;
const SECOND_LOOK_MS = 100;
const MOST_LINKS = 8;
/** Time stamps younger than this may not distinguish two writes. */
const RACY_STAMP_MS = 100;

export interface FileSourceOptions {
  /** A file or a folder. */
  readonly path: string;
  /** The field fileCheckFrequency: the fallback for missed watch events. */
  readonly periodMs: number;
  readonly rules: ManifestRules;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Receives objects other than pods, on a standalone node only. */
  readonly objects?: ManifestObjects;
  readonly lastGood?: LastGoodManifests;
  /** Receives all pods of all manifests. See PodConfig.setSource for `complete`. */
  readonly setPods: (pods: readonly Pod[], report: { complete: boolean }) => void;
}

interface Entry {
  version: FileVersion;
  /** The stamp of the last read, so that only changed files are read again; undefined forces a read. */
  stamp: string | undefined;
  problems: readonly ManifestProblem[];
  /** The objects of the last report that other files already define. */
  duplicates: readonly ManifestProblem[];
  /** Whether it was read at least once, or found missing; false while it could never be read. */
  readOnce: boolean;
  /** Whether it was missing at the last check. If it is missing at the next check too, it counts as removed. */
  missed: boolean;
  /** Whether it was deleted since it was read. It may exist again. */
  removed: boolean;
  busy: boolean;
  /** Whether a call for it is pending, possibly forever. */
  stuck: boolean;
  again: boolean;
  firstTouchMs: number;
  lastTouchMs: number;
  settling: Timer | undefined;
}

/**
 * Reads pods from a file or a folder of manifests (upstream: config/file.go). Invariants:
 * 1. Each file is read independently. A broken, hung or vanishing file does not affect the others.
 * 2. An invalid version of a file removes nothing; its last good version stays.
 * 3. Watch events only trigger a check. stat and read decide, and only a file whose stamp changed is read.
 */
export class FileSource {
  readonly #options: FileSourceOptions;
  readonly #path: string;
  readonly #manifestProblems: ManifestProblems;
  readonly #loop: Loop;
  readonly #watch: FolderWatch;
  readonly #entries = new Map<string, Entry>();
  #mode: 'folder' | 'file' | 'missing' | 'unknown' = 'unknown';
  #reading = 0;
  #listed = false;
  /** The file of each active object. */
  #owners: ReadonlyMap<string, string> = new Map();
  #startedMs = 0;
  #stopped = false;
  #emitTimer: Timer | undefined;
  #secondLook: Timer | undefined;
  #emitted: { pods: readonly Pod[]; complete: boolean } | undefined;

  constructor(options: FileSourceOptions) {
    this.#options = options;
    this.#path = path.resolve('/', options.path);
    this.#manifestProblems = new ManifestProblems(options.log);
    const { clock, random, log, files } = options;
    this.#loop = createLoop({
      name: 'manifest files',
      clock,
      random,
      log,
      periodMs: options.periodMs,
      pass: () => this.#pass(),
    });
    this.#watch = new FolderWatch({
      files,
      clock,
      log,
      longestRetryMs: options.periodMs,
      onEvent: (name, settled, removed) => this.#onEvent(name, settled, removed),
      onLost: () => this.#loop.wake(),
    });
  }

  start(): void {
    this.#startedMs = this.#options.clock.monotonicMs();
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#watch.stop();
    this.#emitTimer?.cancel();
    this.#secondLook?.cancel();
    for (const entry of this.#entries.values()) entry.settling?.cancel();
    await this.#loop.stop();
    await this.#options.lastGood?.flush();
  }

  /** Returns the problems of each manifest, for `explain` and the local API. */
  problems(): readonly ManifestProblem[] {
    return this.#manifestProblems.list();
  }

  /** Checks all files now. */
  check(): void {
    this.#loop.wake();
  }

  // ---- listing files ----

  async #pass(): Promise<void> {
    const found = await this.#listFiles();
    if (found === undefined) return;
    for (const file of this.#entries.keys()) if (!found.includes(file)) this.#touch(file, true);
    // The reads are not awaited, because a file on a dead mount must not block the next check. Each read has its own
    // deadline.
    for (const file of found) if (this.#entries.get(file)?.settling === undefined) void this.#check(file);
    this.#listed = true;
    this.#emitSoon();
  }

  /** Returns the files; undefined if they could not be determined, and then nothing changes. */
  async #listFiles(): Promise<readonly string[] | undefined> {
    const { files, clock } = this.#options;
    try {
      return await withDeadline({ clock, limitMs: READ_LIMIT_MS, op: `list ${this.#path}` }, async () => {
        const info = await files.stat(this.#path);
        this.#mode = info?.type === 'directory' ? 'folder' : info === undefined ? 'missing' : 'file';
        await this.#aim(this.#mode === 'folder' ? this.#path : path.dirname(this.#path));
        this.#manifestProblems.set(
          '',
          info === undefined ? [{ file: this.#path, message: 'path does not exist, ignoring' }] : [],
        );
        if (info === undefined) return [];
        if (info.type !== 'directory') return [this.#path];
        return (await files.list(this.#path))
          .filter((name) => !name.startsWith('.'))
          .map((name) => path.join(this.#path, name));
      });
    } catch (error) {
      this.#manifestProblems.set('', [{ file: this.#path, message: `cannot be read: ${errorMessage(error)}` }]);
      return undefined;
    }
  }

  /**
   * Watches the folder. A new watch may become active a moment after it was requested, so everything is checked once
   * more then.
   */
  async #aim(wanted: string): Promise<void> {
    const { files, clock } = this.#options;
    let folder = wanted;
    // A watch applies to a link itself, but the folder to which it points matters.
    for (let links = 0; links < MOST_LINKS && (await files.lstat(folder))?.type === 'symlink'; links++)
      folder = path.resolve(path.dirname(folder), await files.readLink(folder));
    if (this.#stopped || !this.#watch.aim(folder)) return;
    this.#secondLook?.cancel();
    this.#secondLook = clock.setTimer(SECOND_LOOK_MS, () => this.#loop.wake());
  }

  #onEvent(name: string | undefined, settled: boolean, removed: boolean): void {
    if (this.#stopped) return;
    const base = path.basename(this.#path);
    if (this.#mode === 'folder' && name !== undefined) {
      // `..data` is the link that swaps a whole folder of links atomically.
      if (name.startsWith('..')) this.#loop.wake();
      else if (!name.startsWith('.')) this.#touch(path.join(this.#path, name), settled, removed);
    } else if (this.#mode === 'file' && name === base) this.#touch(this.#path, settled, removed);
    else if (name === undefined || name === base) this.#loop.wake();
  }

  // ---- one file ----

  #entry(file: string): Entry {
    let entry = this.#entries.get(file);
    if (entry === undefined) {
      entry = {
        version: nothing,
        stamp: undefined,
        problems: [],
        duplicates: [],
        readOnce: false,
        missed: false,
        removed: false,
        busy: false,
        stuck: false,
        again: false,
        firstTouchMs: 0,
        lastTouchMs: -TAKE_AWAY_MS,
        settling: undefined,
      };
      this.#entries.set(file, entry);
    }
    return entry;
  }

  /** Handles a change of the file: reads it now if it is complete, else when it is stable. */
  #touch(file: string, settled: boolean, removed = false): void {
    const { clock } = this.#options;
    const entry = this.#entry(file);
    entry.stamp = undefined;
    entry.removed ||= removed;
    if (settled) {
      entry.settling?.cancel();
      entry.settling = undefined;
      entry.lastTouchMs = -TAKE_AWAY_MS;
      void this.#check(file);
      return;
    }
    entry.lastTouchMs = clock.monotonicMs();
    if (entry.settling !== undefined) return;
    entry.firstTouchMs = entry.lastTouchMs;
    this.#settle(file, entry, SETTLE_MS);
  }

  #settle(file: string, entry: Entry, delayMs: number): void {
    const { clock } = this.#options;
    entry.settling?.cancel();
    entry.settling = clock.setTimer(delayMs, () => {
      entry.settling = undefined;
      const nowMs = clock.monotonicMs();
      const restMs = entry.lastTouchMs + SETTLE_MS - nowMs;
      if (restMs > 0 && nowMs - entry.firstTouchMs < LONGEST_SETTLE_MS) this.#settle(file, entry, restMs);
      else void this.#check(file);
    });
  }

  async #check(file: string): Promise<void> {
    const entry = this.#entry(file);
    if (entry.busy) {
      entry.again = true;
      return;
    }
    entry.busy = true;
    this.#reading++;
    do {
      entry.again = false;
      await this.#load(file, entry);
    } while (entry.again && !this.#stopped);
    entry.busy = false;
    this.#reading--;
    this.#emitSoon();
  }

  async #load(file: string, entry: Entry): Promise<void> {
    const { clock } = this.#options;
    try {
      // A call that never returned still blocks a thread, so no other one is made.
      if (entry.stuck) return;
      await withDeadline({ clock, limitMs: READ_LIMIT_MS, op: `read ${file}` }, async (signal) => {
        entry.stuck = true;
        await this.#read(file, entry, signal).finally(() => {
          entry.stuck = false;
        });
      });
    } catch (error) {
      entry.stamp = undefined;
      if (isKind(error, 'NotFound')) return this.#settle(file, entry, SETTLE_MS);
      if (!entry.readOnce) await this.#recall(entry, file);
      this.#note(file, entry, [{ file, message: `cannot be read: ${errorMessage(error)}` }]);
    }
  }

  async #read(file: string, entry: Entry, signal: AbortSignal): Promise<void> {
    const { files, clock } = this.#options;
    const before = await files.stat(file);
    if (signal.aborted) return;
    if (before === undefined) return this.#vanish(file, entry, await files.lstat(file));
    entry.missed = false;
    const refusal = refuseByKind(before);
    if (refusal !== undefined) {
      if (!entry.readOnce) await this.#recall(entry, file);
      entry.readOnce = true;
      return this.#note(file, entry, [{ file, message: refusal }]);
    }
    const stamp = stampOf(before);
    if (entry.stamp === stamp) return;
    const text = await files.readText(file, MANIFEST_LIMIT_BYTES);
    const after = await files.stat(file);
    if (signal.aborted) return;
    if (after === undefined || stampOf(after) !== stamp) return this.#touch(file, false);
    const racy = clock.nowMs() - before.modifiedMs < RACY_STAMP_MS;
    await this.#apply(file, entry, text);
    if (!racy && entry.settling === undefined) entry.stamp = stamp;
  }

  async #apply(file: string, entry: Entry, text: string): Promise<void> {
    const { rules, clock, lastGood } = this.#options;
    const content = readManifest(text, { kind: 'file', path: file }, rules);
    if (content.errors.length > 0 && !entry.readOnce) await this.#recall(entry, file);
    const next = computeFileVersion(entry.version, content);
    const restedMs = clock.monotonicMs() - entry.lastTouchMs;
    if (restedMs < TAKE_AWAY_MS && takesAway(entry.version, next)) {
      entry.firstTouchMs = clock.monotonicMs();
      return this.#settle(file, entry, TAKE_AWAY_MS - restedMs);
    }
    entry.readOnce = true;
    if (entry.removed && content.errors.length === 0) this.#endRemoved(entry, next);
    entry.version = next;
    this.#note(file, entry, [...content.errors, ...content.warnings]);
    if (content.errors.length === 0) lastGood?.note(file, text);
  }

  /**
   * Removes the pods of a deleted file, even if the file exists again with the same pods (upstream: REMOVE, then ADD;
   * this restarts static pods).
   */
  #endRemoved(entry: Entry, next: FileVersion): void {
    entry.removed = false;
    const again = new Set(next.pods.map((pod) => pod.metadata.uid));
    const ended = entry.version.pods.filter((pod) => again.has(pod.metadata.uid));
    if (ended.length === 0 || !this.#listed) return;
    entry.version = { ...entry.version, pods: entry.version.pods.filter((pod) => !ended.includes(pod)) };
    this.#emit();
  }

  /** Returns the version from before the agent's restart, for a manifest that cannot be used now. */
  async #recall(entry: Entry, file: string): Promise<void> {
    const text = await this.#options.lastGood?.recall(file);
    if (text === undefined || entry.readOnce) return;
    const content = readManifest(text, { kind: 'file', path: file }, this.#options.rules);
    if (content.errors.length > 0) return;
    entry.version = computeFileVersion(nothing, content);
    entry.readOnce = true;
    this.#options.log.warn('manifest cannot be used; keeping its last good version', { file });
  }

  /** Handles a missing file, which may come back soon: editors move the old one away before the new one is in place. */
  #vanish(file: string, entry: Entry, link: FileInfo | undefined): void {
    if (!entry.missed) {
      entry.missed = true;
      return this.#settle(file, entry, SETTLE_MS);
    }
    this.#options.lastGood?.note(file, undefined);
    if (link !== undefined) {
      entry.version = nothing;
      entry.readOnce = true;
      return this.#note(file, entry, [{ file, message: 'is a link to a file that does not exist' }]);
    }
    this.#entries.delete(file);
    this.#manifestProblems.set(file, []);
  }

  #note(file: string, entry: Entry, problems: readonly ManifestProblem[]): void {
    entry.problems = problems;
    if (this.#entries.has(file)) this.#manifestProblems.set(file, [...problems, ...entry.duplicates]);
  }

  // ---- reporting ----

  /** Reports immediately if no file is being read, else when the reads end. Slow reads are not awaited for long. */
  #emitSoon(): void {
    if (this.#stopped || !this.#listed) return;
    if (this.#reading === 0) return this.#emit();
    this.#emitTimer ??= this.#options.clock.setTimer(EMIT_MS, () => this.#emit());
  }

  #emit(): void {
    this.#emitTimer?.cancel();
    this.#emitTimer = undefined;
    const { clock, objects, setPods } = this.#options;
    const entries = [...this.#entries].sort(([left], [right]) => (left < right ? -1 : 1));
    const combined = combineVersions(
      entries.map(([file, entry]) => [file, entry.version] as const),
      this.#owners,
    );
    this.#owners = combined.owners;
    for (const [file, entry] of entries) {
      entry.duplicates = combined.duplicates.get(file) ?? [];
      this.#manifestProblems.set(file, [...entry.problems, ...entry.duplicates]);
    }
    const complete =
      this.#emitted?.complete === true ||
      clock.monotonicMs() - this.#startedMs >= INCOMPLETE_LIMIT_MS ||
      entries.every(([, entry]) => entry.readOnce);
    objects?.replace('file', combined.objects);
    const { pods } = combined;
    const last = this.#emitted;
    if (
      last !== undefined &&
      last.complete === complete &&
      last.pods.length === pods.length &&
      pods.every((pod, index) => pod === last.pods[index])
    )
      return;
    this.#emitted = { pods, complete };
    setPods(pods, { complete });
  }
}

function stampOf(info: FileInfo): string {
  return `${info.device}:${info.inode}:${info.sizeBytes}:${info.modifiedMs}`;
}

function refuseByKind(info: FileInfo): string | undefined {
  if (info.type === 'directory') return 'is a directory, not recursing into it';
  if (info.type !== 'file') return `is a ${info.type}, not a regular file`;
  if (info.sizeBytes > MANIFEST_LIMIT_BYTES) return `is larger than ${MANIFEST_LIMIT_BYTES} bytes`;
  return undefined;
}
