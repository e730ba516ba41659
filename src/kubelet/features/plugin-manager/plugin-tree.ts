import { createLoop, type Loop } from '../../../base/loop.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { HostFiles } from '../../ports/host-files.ts';

/** Sockets by path. The value tells one socket from another that was later made at the same path. */
export type FoundSockets = ReadonlyMap<string, string>;

export interface PluginTreeOptions {
  /** `<root>/plugins_registry`; made when missing. */
  folder: string;
  files: HostFiles;
  clock: Clock;
  random: Random;
  log: Logger;
  onSockets: (sockets: FoundSockets) => void;
}

/** Behind the watches; and while a folder cannot be watched. */
const SAFETY_PERIOD_MS = 60_000;
const UNWATCHED_PERIOD_MS = 1_000;
const FOLDER_MODE = 0o755;
/** Nobody nests this deep; it only bounds what a mistake can cost. */
const DEEPEST = 16;

/**
 * The sockets below a folder, sub-folders included. Events only wake: each pass watches every folder it comes by before it lists it, so that
 * nothing appears unseen in between. Names with a dot in front are left out (upstream: plugin_watcher.go).
 */
export class PluginTree {
  readonly #options: PluginTreeOptions;
  readonly #loop: Loop;
  readonly #watches = new Map<string, { stop: () => void; sinceMs: number }>();
  #watchedAll = false;
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
    const folders = new Set<string>();
    const sockets = new Map<string, string>();
    await this.#visit(folder, 0, { folders, sockets });
    for (const [watched, { stop }] of [...this.#watches]) {
      if (folders.has(watched)) continue;
      stop();
      this.#watches.delete(watched);
    }
    this.#watchedAll = [...folders].every((one) => this.#watches.has(one));
    this.#options.onSockets(sockets);
  }

  async #visit(
    folder: string,
    depth: number,
    found: { folders: Set<string>; sockets: Map<string, string> },
  ): Promise<void> {
    const { files } = this.#options;
    this.#watch(folder);
    found.folders.add(folder);
    for (const name of await files.list(folder)) {
      if (name.startsWith('.')) continue;
      const path = `${folder}/${name}`;
      const own = await files.lstat(path);
      if (own?.type === 'directory' && depth < DEEPEST) await this.#visit(path, depth + 1, found);
      // A link to a socket is a socket (upstream: IsUnixDomainSocket).
      const info = own?.type === 'symlink' ? await files.stat(path).catch(() => undefined) : own;
      if (info?.type === 'socket')
        found.sockets.set(path, `${own?.device}:${own?.inode}:${own?.modifiedMs}:${info.inode}:${info.modifiedMs}`);
    }
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
        // One that was lost at once would be lost again at once.
        this.#retry?.cancel();
        this.#retry = clock.setTimer(Math.max(0, watch.sinceMs + UNWATCHED_PERIOD_MS - clock.monotonicMs()), () =>
          this.#loop.wake(),
        );
      },
    });
  }
}
