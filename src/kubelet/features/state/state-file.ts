import { hash } from 'node:crypto';
import { dirname } from 'node:path/posix';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { readStateText, setCorruptAside } from './read-state-text.ts';
import type { StateSource } from './read-state-text.ts';

export interface StateFileOptions<T> {
  readonly path: string;
  readonly files: HostFiles;
  readonly clock: Clock;
  readonly log: Logger;
  /** Returns the value to save. It is called at the time of the write. */
  readonly snapshot: () => T;
  /** Changes within this time share one write. */
  readonly coalesceMs: number;
  /** The minimum time between two writes, for values that may change all the time. It protects flash storage. */
  readonly spacingMs?: number;
  /**
   * How many writes may ignore that interval after a quiet time. Each passed interval allows one more. The default is
   * 1.
   */
  readonly burst?: number;
}

/** The retry interval of a failed write. No other write would contain its content. */
const RETRY_MS = 2000;

interface Envelope {
  readonly checksum: string;
  readonly value: unknown;
}

/**
 * Stores one JSON value that survives a restart of the agent. The agent can work without it. Invariants:
 * 1. The file is replaced atomically and has a checksum, so it is read completely or not at all.
 * 2. A missing, truncated or corrupt file never stops the agent. It is renamed to a name with `.corrupt` and logged as
 *    an error, and its content is rebuilt from the runtime.
 * 3. A failed write (disk full, read-only) is logged once and retried every 2 s, because there may be no later change
 *    that would write it.
 */
export class StateFile<T> {
  readonly #options: StateFileOptions<T>;
  #timer: { timer: Timer; atMs: number } | undefined;
  #writing: Promise<void> = Promise.resolve();
  #failed = false;
  #isFlushing = false;
  #lastWritten = '';
  /** The monotonic time until which the write budget is used up. */
  #spentUntilMs = -Infinity;

  constructor(options: StateFileOptions<T>) {
    this.#options = options;
  }

  /** Reads the saved value. Returns undefined if there is none that `accept` accepts. */
  static async load<T>(source: StateSource, accept: (value: unknown) => value is T): Promise<T | undefined> {
    const text = await readStateText(source);
    if (text === undefined) return undefined;
    const value = openState(text);
    if (value !== undefined && accept(value)) return value;
    await setCorruptAside(source);
    return undefined;
  }

  /** Saves a change soon. Values that must be saved immediately belong in a ChangeFile. */
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

  /** Saves pending changes, and those of failed writes. Resolves when that succeeded or failed. */
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
      // The file is not synced. After a power failure none of its containers runs, and syncs would slow down the
      // runtime.
      await files.writeFileAtomic(path, text, 0o600, { survivesPowerCut: false });
      this.#lastWritten = text;
      this.#failed = false;
    } catch (error) {
      // The disk may have refused to create the folder when the agent started.
      if (isKind(error, 'NotFound')) await files.makeDirectory(dirname(path), 0o700).catch(() => undefined);
      if (!this.#failed)
        log.error('state file cannot be written; a restart of the agent would lose recent state', {
          path,
          error: errorMessage(error),
        });
      this.#failed = true;
      // Only successful writes use up the write budget.
      this.#spentUntilMs = spentMs;
      // An agent that exits does not wait for the disk.
      if (!this.#isFlushing) this.#writeWithin(RETRY_MS);
    }
  }
}

function checksumOf(text: string): string {
  return hash('sha256', text).slice(0, 16);
}

/** Encodes a value for a file, with a checksum. */
export function sealState(value: unknown): string {
  const text = JSON.stringify(value);
  return `{"checksum":"${checksumOf(text)}","value":${text}}\n`;
}

/** Decodes a value; undefined if the content is not intact. */
export function openState(text: string): unknown {
  try {
    const envelope = JSON.parse(text) as Partial<Envelope>;
    if (typeof envelope.checksum !== 'string' || envelope.checksum !== checksumOf(JSON.stringify(envelope.value)))
      return undefined;
    return envelope.value;
  } catch {
    return undefined; // return undefined; // The text is not JSON, so the caller renames the file.
  }
}
