import { open, readdir, rename, stat, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import path from 'node:path';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';

export interface RotatingFileOptions {
  readonly file: string;
  /** `--audit-log-maxsize`, in bytes; 0 never rotates. */
  readonly maxBytes: number;
  /** `--audit-log-maxbackup`; 0 keeps all. */
  readonly maxBackups: number;
  /** `--audit-log-maxage`, in days; 0 keeps them forever. */
  readonly maxAgeDays: number;
  readonly clock: Clock;
  readonly log: Logger;
}

/** The limit of buffered bytes while the disk hangs. Further lines are dropped, and their number is logged. */
const MOST_WAITING_BYTES = 64 * 1024 * 1024;
const DAY_MS = 86_400_000;

/**
 * A log file with rotation. Lines are written in order, many at a time. A full file is renamed with the time
 * (`audit-2026-01-02T03-04-05.000.log`), and old ones are removed by age and number. Invariants:
 * 1. One write runs at a time.
 * 2. A line is completely in one file.
 * 3. The buffer is bounded.
 */
export class RotatingFile {
  readonly #options: RotatingFileOptions;
  #waiting: string[] = [];
  #waitingBytes = 0;
  #lost = 0;
  #handle: FileHandle | undefined;
  #size = 0;
  #writing: Promise<void> | undefined;

  constructor(options: RotatingFileOptions) {
    this.#options = options;
  }

  readonly write = (line: string): void => {
    if (this.#waitingBytes > MOST_WAITING_BYTES) {
      this.#lost++;
      return;
    }
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    this.#writing ??= this.#drain();
  };

  /** Writes all buffered lines and closes the file. */
  async close(): Promise<void> {
    await this.#writing;
    await this.#handle?.close();
    this.#handle = undefined;
  }

  async #drain(): Promise<void> {
    // Lines that are added in the same turn share a write.
    await Promise.resolve();
    while (this.#waiting.length > 0) {
      const lines = this.#waiting;
      this.#waiting = [];
      this.#waitingBytes = 0;
      try {
        await this.#append(lines);
      } catch (error) {
        this.#lost += lines.length;
        this.#options.log.error('Unable to write the audit log', {
          file: this.#options.file,
          lines: this.#lost,
          error: error instanceof Error ? error.message : String(error),
        });
        this.#lost = 0;
        this.#handle = undefined;
      }
    }
    this.#writing = undefined;
  }

  async #append(lines: readonly string[]): Promise<void> {
    const { maxBytes } = this.#options;
    await this.#open();
    let batch: string[] = [];
    let bytes = 0;
    for (const line of lines) {
      const length = Buffer.byteLength(line) + 1;
      if (maxBytes > 0 && this.#size + bytes > 0 && this.#size + bytes + length > maxBytes) {
        await this.#write(batch, bytes);
        await this.#rotate();
        batch = [];
        bytes = 0;
      }
      batch.push(line);
      bytes += length;
    }
    await this.#write(batch, bytes);
  }

  async #write(lines: readonly string[], bytes: number): Promise<void> {
    if (lines.length === 0) return;
    const handle = await this.#open();
    await handle.appendFile(`${lines.join('\n')}\n`);
    this.#size += bytes;
  }

  async #open(): Promise<FileHandle> {
    if (this.#handle !== undefined) return this.#handle;
    this.#handle = await open(this.#options.file, 'a', 0o600);
    this.#size = (await this.#handle.stat()).size;
    return this.#handle;
  }

  async #rotate(): Promise<void> {
    const { file, clock } = this.#options;
    await this.#handle?.close();
    this.#handle = undefined;
    this.#size = 0;
    const { dir, name, ext } = path.parse(file);
    const at = new Date(clock.nowMs()).toISOString().replace(/Z$/, '').replaceAll(':', '-');
    await rename(file, await this.#free(path.join(dir, `${name}-${at}`), ext));
    await this.#removeOld();
    await this.#open();
  }

  /** Returns a free file name, because two rotations may happen within a millisecond. */
  async #free(stem: string, ext: string): Promise<string> {
    for (let attempt = 0; ; attempt++) {
      const candidate = `${stem}${attempt === 0 ? '' : `-${attempt}`}${ext}`;
      const isTaken = await stat(candidate).then(
        () => true,
        () => false,
      );
      if (!isTaken) return candidate;
    }
  }

  async #removeOld(): Promise<void> {
    const { file, maxBackups, maxAgeDays, clock } = this.#options;
    const { dir, name, ext } = path.parse(file);
    const backups = (await readdir(dir === '' ? '.' : dir))
      .filter(
        (each) =>
          each.startsWith(`${name}-`) && each.endsWith(ext) && /-\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}/.test(each),
      )
      .sort()
      .reverse();
    for (const [index, each] of backups.entries()) {
      const tooMany = maxBackups > 0 && index >= maxBackups;
      const tooOld = maxAgeDays > 0 && clock.nowMs() - timeIn(each) > maxAgeDays * DAY_MS;
      if (tooMany || tooOld) await unlink(path.join(dir, each)).catch(() => undefined);
    }
  }
}

function timeIn(name: string): number {
  const [, day = '', hour = '', minute = '', second = ''] =
    /(\d{4}-\d\d-\d\d)T(\d\d)-(\d\d)-(\d\d\.\d{3})/.exec(name) ?? [];
  return Date.parse(`${day}T${hour}:${minute}:${second}Z`);
}
