import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { FileInfo, HostFiles } from '../../ports/host-files.ts';

/** Sockets by path. The value distinguishes a socket from a later one at the same path. */
export type FoundSockets = ReadonlyMap<string, string>;

export interface PluginTreeOptions {
  /** The folder `<root>/plugins_registry`, which is created when it is missing. */
  readonly folder: string;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly onSockets: (sockets: FoundSockets) => void;
}

interface Found {
  readonly folders: Set<string>;
  readonly sockets: Map<string, string>;
  /** The number of names that were checked. */
  entries: number;
}

const isCrowded = ({ folders, sockets, entries }: Found): boolean =>
  folders.size >= MAX_FOLDERS || sockets.size >= MAX_SOCKETS || entries > MAX_ENTRIES;

/** The interval of checks, as a fallback for missed watch events and while a folder cannot be watched. */
const SAFETY_PERIOD_MS = 60_000;
const UNWATCHED_PERIOD_MS = 1_000;
const FOLDER_MODE = 0o755;
/** The maximum depth. It exceeds any real nesting and limits the cost of a mistake. */
const DEEPEST = 16;
/** The maximum number of names. A plugin can write to the folder and must not be able to overload the agent. */
const MAX_ENTRIES = 5_000;
const MAX_FOLDERS = 250;
const MAX_SOCKETS = 250;

/**
 * Finds the sockets below a folder, including sub-folders. Events only trigger a check. Each check watches every folder
 * before it lists it, so that it misses nothing in between. Names that begin with a dot are ignored (upstream:
 * plugin_watcher.go).
 */
export class PluginTree {
  readonly #options: PluginTreeOptions;
  readonly #loop: Loop;
  readonly #watches = new Map<string, { stop: () => void; sinceMs: number }>();
  #watchedAll = false;
  #wasCrowded = false;
  #known: FoundSockets = new Map();
  #retry: Timer | undefined;

  constructor(options: PluginTreeOptions) {
    const { clock, random, log } = options;
    this.#options = options;
    this.#loop = createLoop({
      name: 'plugin sockets',
      clock,
      random,
      log,
      periodMs: () => (this.#watchedAll ? SAFETY_PERIOD_MS : UNWATCHED_PERIOD_MS),
      pass: () => this.#pass(),
    });
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#retry?.cancel();
    await this.#loop.stop();
    for (const { stop } of this.#watches.values()) stop();
    this.#watches.clear();
  }

  async #pass(): Promise<void> {
    const { folder, files } = this.#options;
    await files.makeDirectory(folder, FOLDER_MODE);
    const found: Found = { folders: new Set(), sockets: new Map(), entries: 0 };
    await this.#visit(folder, 0, found);
    if (isCrowded(found)) await this.#keepKnown(found);
    const { folders, sockets } = found;
    this.#known = sockets;
    this.#warnOfCrowd(found);
    for (const [watched, { stop }] of [...this.#watches]) {
      if (folders.has(watched)) continue;
      stop();
      this.#watches.delete(watched);
    }
    this.#watchedAll = [...folders].every((one) => this.#watches.has(one));
    this.#options.onSockets(sockets);
  }

  async #visit(folder: string, depth: number, found: Found): Promise<void> {
    if (found.folders.size >= MAX_FOLDERS) return;
    const { files } = this.#options;
    this.#watch(folder);
    found.folders.add(folder);
    for (const name of await files.list(folder)) {
      if (name.startsWith('.')) continue;
      found.entries += 1;
      if (found.entries > MAX_ENTRIES || found.sockets.size >= MAX_SOCKETS) return;
      const path = `${folder}/${name}`;
      const own = await files.lstat(path);
      if (own?.type === 'directory' && depth < DEEPEST) await this.#visit(path, depth + 1, found);
      else await this.#note(path, own, found);
    }
  }

  async #note(path: string, own: FileInfo | undefined, found: Found): Promise<void> {
    // A link to a socket counts as a socket (upstream: IsUnixDomainSocket).
    const info = own?.type === 'symlink' ? await this.#options.files.stat(path).catch(() => undefined) : own;
    if (info?.type === 'socket')
      found.sockets.set(path, `${own?.device}:${own?.inode}:${own?.modifiedMs}:${info.inode}:${info.modifiedMs}`);
  }

  /** Keeps registered plugins, even if other names come before them. */
  async #keepKnown(found: Found): Promise<void> {
    for (const path of this.#known.keys())
      if (!found.sockets.has(path)) await this.#note(path, await this.#options.files.lstat(path), found);
  }

  #warnOfCrowd(found: Found): void {
    const crowded = isCrowded(found);
    if (crowded && !this.#wasCrowded)
      this.#options.log.error('the folder of plugin sockets has too many entries; some of them are not checked', {
        folder: this.#options.folder,
        folders: MAX_FOLDERS,
        sockets: MAX_SOCKETS,
        entries: MAX_ENTRIES,
      });
    this.#wasCrowded = crowded;
  }

  #watch(folder: string): void {
    if (this.#watches.has(folder)) return;
    const { files, clock, log } = this.#options;
    const watch = { stop: (): void => undefined, sinceMs: clock.monotonicMs() };
    this.#watches.set(folder, watch);
    watch.stop = files.watch(folder, {
      onChange: () => this.#loop.wake(),
      onLost: (reason) => {
        if (this.#watches.get(folder) !== watch) return;
        this.#watches.delete(folder);
        this.#watchedAll = false;
        log.debug(2, 'a folder of plugin sockets is no longer watched', { folder, reason });
        // A watch that was lost immediately would be lost again if it were opened without a pause.
        this.#retry?.cancel();
        this.#retry = clock.setTimer(Math.max(0, watch.sinceMs + UNWATCHED_PERIOD_MS - clock.monotonicMs()), () =>
          this.#loop.wake(),
        );
      },
    });
  }
}
