import { createHash } from 'node:crypto';
import { dirname } from 'node:path/posix';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';

export interface StateFileOptions<T> {
  path: string;
  files: HostFiles;
  clock: Clock;
  log: Logger;
  /** What to save, asked when it is time to. */
  snapshot: () => T;
  /** Changes within this time are written together. */
  coalesceMs: number;
  /** Least time between two writes, for values that may change all the time: the write budget of flash storage. */
  spacingMs?: number;
  /** So many writes may come without that distance after a quiet time; one more for each distance that passes. 1 unless given. */
  burst?: number;
}

/** How soon a failed write is tried again; nobody else writes what it held. */
const RETRY_MS = 2000;

interface Envelope {
  checksum: string;
  value: unknown;
}

/**
 * One JSON value that survives a restart of the agent, and that the agent can do without.
 * 1. The file is replaced atomically and carries a checksum: it is read whole or not at all.
 * 2. A file that is missing, truncated or corrupt never stops the agent: it is set aside under a name with `.corrupt`, said loudly,
 *    and what it held is rebuilt from the runtime.
 * 3. A failed write (disk full, read-only) is said once and tried again every 2 s: nothing else need ever change after it.
 */
export class StateFile<T> {
  readonly #options: StateFileOptions<T>;
  #timer: { timer: Timer; atMs: number } | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;
  #isFlushing = false;
  #lastWritten = '';
  /** Monotonic time up to which the write budget is spent. */
  #spentUntilMs = -Infinity;

  constructor(options: StateFileOptions<T>) {
    this.#options = options;
  }

  /** The saved value, checked by `accept`; undefined when there is none that can be trusted. */
  static async load<T>(
    source: { path: string; files: HostFiles; log: Logger },
    accept: (value: unknown) => value is T,
  ): Promise<T | undefined> {
    const { path, files, log } = source;
    let text: string;
    try {
      text = await files.readText(path);
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.error('state file cannot be read, going on without it', { path, error: errorMessage(error) });
      return undefined;
    }
    const value = openState(text);
    if (value !== undefined && accept(value)) return value;
    const aside = `${path}.corrupt`;
    log.error('state file is corrupt; it was set aside and its content is rebuilt from the runtime', {
      path,
      movedTo: aside,
    });
    await files
      .rename(path, aside)
      .catch((error: unknown) =>
        log.error('corrupt state file could not be set aside', { path, error: errorMessage(error) }),
      );
    return undefined;
  }

  /** Something changed: save it soon. What must not wait belongs in a ChangeFile. */
  changed(): void {
    const { clock, coalesceMs, spacingMs = 0, burst = 1 } = this.#options;
    const affordableMs = this.#spentUntilMs - (burst - 1) * spacingMs;
    this.#writeWithin(Math.max(coalesceMs, affordableMs - clock.monotonicMs()));
  }

  #writeWithin(waitMs: number): void {
    const { clock } = this.#options;
    const atMs = clock.monotonicMs() + waitMs;
    if (this.#timer !== undefined && this.#timer.atMs <= atMs) return;
    this.#timer?.timer.cancel();
    const timer = clock.setTimer(waitMs, () => {
      this.#timer = undefined;
      this.#write();
    });
    this.#timer = { timer, atMs };
  }

  /** Saves now what is pending or could not be saved, and resolves when that was done or has failed. */
  async flush(): Promise<void> {
    if (this.#timer !== undefined || this.#failed) {
      this.#timer?.timer.cancel();
      this.#timer = undefined;
      this.#write();
    }
    this.#isFlushing = true;
    await this.#writing;
    this.#isFlushing = false;
  }

  #write(): void {
    this.#writing = this.#writing.then(() => this.#writeNow());
  }

  async #writeNow(): Promise<void> {
    const { path, files, clock, log, snapshot, spacingMs = 0 } = this.#options;
    const spentMs = this.#spentUntilMs;
    this.#spentUntilMs = Math.max(this.#spentUntilMs, clock.monotonicMs()) + spacingMs;
    try {
      const text = sealState(snapshot());
      if (text === this.#lastWritten) {
        this.#spentUntilMs = spentMs;
        return;
      }
      // After a power cut none of the containers it speaks of runs any more; waiting for the disk would only slow down their runtime.
      await files.writeFileAtomic(path, text, 0o600, { survivesPowerCut: false });
      this.#lastWritten = text;
      this.#failed = false;
    } catch (error) {
      // The disk may have refused the folder too, when the agent started.
      if (isKind(error, 'NotFound')) await files.makeDirectory(dirname(path), 0o700).catch(() => undefined);
      if (!this.#failed)
        log.error('state file cannot be written; a restart of the agent would forget recent state', {
          path,
          error: errorMessage(error),
        });
      this.#failed = true;
      // Tries must not use up what the disk's health allows: the write after the last of them is the one that counts.
      this.#spentUntilMs = spentMs;
      // Whoever leaves the agent has no time to wait for a disk.
      if (!this.#isFlushing) this.#writeWithin(RETRY_MS);
    }
  }
}

function checksumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A value as it stands in a file, with a checksum. */
export function sealState(value: unknown): string {
  const text = JSON.stringify(value);
  return `{"checksum":"${checksumOf(text)}","value":${text}}\n`;
}

/** Undefined for what is not as it was written. */
export function openState(text: string): unknown {
  try {
    const envelope = JSON.parse(text) as Partial<Envelope>;
    if (typeof envelope.checksum !== 'string' || envelope.checksum !== checksumOf(JSON.stringify(envelope.value)))
      return undefined;
    return envelope.value;
  } catch {
    return undefined; // Not JSON any more: the caller sets it aside.
  }
}
