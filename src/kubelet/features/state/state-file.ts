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
  /** The value to save, read at the moment of writing. */
  readonly snapshot: () => T;
  /** Changes within this time are written together. */
  readonly coalesceMs: number;
  /** Minimum time between two writes, for values that may change all the time: the write budget of flash storage. */
  readonly spacingMs?: number;
  /**
   * After a quiet time, this many writes may ignore that interval; one more for each interval that passes. 1 unless
   * given.
   */
  readonly burst?: number;
}

/** Retry interval of a failed write; no other write contains what it held. */
const RETRY_MS = 2000;

interface Envelope {
  readonly checksum: string;
  readonly value: unknown;
}

/**
 * One JSON value that survives a restart of the agent, and that the agent can do without.
 * 1. The file is replaced atomically and has a checksum: it is read completely or not at all.
 * 2. A file that is missing, truncated or corrupt never stops the agent: it is set aside under a name with `.corrupt`,
 *    logged as an error, and its content is rebuilt from the runtime.
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
  /** Monotonic time up to which the write budget is spent. */
  #spentUntilMs = -Infinity;

  constructor(options: StateFileOptions<T>) {
    this.#options = options;
  }

  /** The saved value, checked by `accept`; undefined when there is no valid one. */
  static async load<T>(source: StateSource, accept: (value: unknown) => value is T): Promise<T | undefined> {
    const text = await readStateText(source);
    if (text === undefined) return undefined;
    const value = openState(text);
    if (value !== undefined && accept(value)) return value;
    await setCorruptAside(source);
    return undefined;
  }

  /** Something changed: save it soon. Values that must be saved at once belong in a ChangeFile. */
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

  /** Saves what is pending or could not be saved, and resolves when that was done or has failed. */
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
      // After a power failure none of its containers runs any more; waiting for the disk would only slow down their
      // runtime.
      await files.writeFileAtomic(path, text, 0o600, { survivesPowerCut: false });
      this.#lastWritten = text;
      this.#failed = false;
    } catch (error) {
      // The disk may also have rejected the folder when the agent started.
      if (isKind(error, 'NotFound')) await files.makeDirectory(dirname(path), 0o700).catch(() => undefined);
      if (!this.#failed)
        log.error('state file cannot be written; a restart of the agent would lose recent state', {
          path,
          error: errorMessage(error),
        });
      this.#failed = true;
      // Failed attempts must not use up the write budget: only the write that succeeds counts.
      this.#spentUntilMs = spentMs;
      // An agent that is exiting cannot wait for a disk.
      if (!this.#isFlushing) this.#writeWithin(RETRY_MS);
    }
  }
}

function checksumOf(text: string): string {
  return hash('sha256', text).slice(0, 16);
}

/** A value as stored in a file, with a checksum. */
export function sealState(value: unknown): string {
  const text = JSON.stringify(value);
  return `{"checksum":"${checksumOf(text)}","value":${text}}\n`;
}

/** undefined for content that is not intact. */
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
