import { createHash } from 'node:crypto';
import { KubeletError } from '../../../base/errors.ts';

/** The version of the format. A later format gets the next number, and this one stays readable. */
export const SNAPSHOT_FORMAT = 1;

/** The first line of the file. */
export interface SnapshotHead {
  readonly format: number;
  /** The revision of the store. */
  readonly revision: number;
  /** An RFC 3339 time. */
  readonly createdAt: string;
  /** The version of the control plane that wrote it. */
  readonly version: string;
}

/** The key, the revision of its newest write, and the value, one line each. */
export type SnapshotItem = readonly [key: string, revision: number, value: string];

/**
 * Writes a snapshot: a line of JSON for the head, one for each item, and one with their number and the SHA-256 of
 * everything before it. The last line shows whether a file was truncated or changed.
 */
export class SnapshotWriter {
  readonly #hash = createHash('sha256');
  #items = 0;

  head(head: SnapshotHead): string {
    return this.#line({ kubeletTsSnapshot: head });
  }

  item(item: SnapshotItem): string {
    this.#items += 1;
    return this.#line(item);
  }

  end(): string {
    return `${JSON.stringify({ items: this.#items, sha256: this.#hash.digest('hex') })}\n`;
  }

  #line(value: unknown): string {
    const line = `${JSON.stringify(value)}\n`;
    this.#hash.update(line);
    return line;
  }
}

/**
 * Reads the lines of a snapshot one after another. Throws `Invalid` for another file, a later format, or a truncated or
 * changed file. The last two are detected only at the end.
 */
export class SnapshotReader {
  readonly #hash = createHash('sha256');
  #head: SnapshotHead | undefined;
  #items = 0;
  #isWhole = false;

  /** Returns the item of a line; undefined for the head and the end. */
  read(line: string): SnapshotItem | undefined {
    if (this.#isWhole) throw invalid('there is more after its end');
    const value = parseLine(line);
    if (this.#head === undefined) {
      this.#head = headOf(value);
      this.#hash.update(`${line}\n`);
      return undefined;
    }
    if (isItem(value)) {
      if (value[1] > this.#head.revision) throw invalid(`${JSON.stringify(value[0])} is newer than the snapshot`);
      this.#items += 1;
      this.#hash.update(`${line}\n`);
      return value;
    }
    const end = value as { readonly items?: unknown; readonly sha256?: unknown };
    if (typeof value !== 'object' || value === null || end.items !== this.#items)
      throw invalid(`line ${this.#items + 2} is neither an object nor the end`);
    if (end.sha256 !== this.#hash.digest('hex')) throw invalid('it was changed: its checksum differs');
    this.#isWhole = true;
    return undefined;
  }

  /** Must be called after the last line. */
  finish(): { readonly head: SnapshotHead; readonly items: number } {
    if (this.#head === undefined || !this.#isWhole) throw invalid('it was cut short: its last line is missing');
    return { head: this.#head, items: this.#items };
  }
}

function parseLine(line: string): unknown {
  try {
    return JSON.parse(line) as unknown;
  } catch {
    throw invalid('a line of it is not JSON');
  }
}

function headOf(value: unknown): SnapshotHead {
  const head = (value as { readonly kubeletTsSnapshot?: Partial<SnapshotHead> } | null)?.kubeletTsSnapshot;
  if (head === undefined || typeof head.format !== 'number') throw invalid('its first line is not that of a snapshot');
  if (head.format > SNAPSHOT_FORMAT)
    throw invalid(`it has format ${head.format} and this program reads up to ${SNAPSHOT_FORMAT}: use a newer version`);
  const { format, revision, createdAt = '', version = '' } = head;
  if (!Number.isSafeInteger(revision) || (revision ?? 0) < 1) throw invalid('its revision is not a positive number');
  return { format, revision: revision ?? 0, createdAt, version };
}

function isItem(value: unknown): value is SnapshotItem {
  return (
    Array.isArray(value) &&
    value.length === 3 &&
    typeof value[0] === 'string' &&
    Number.isSafeInteger(value[1]) &&
    typeof value[2] === 'string'
  );
}

const invalid = (why: string): KubeletError =>
  new KubeletError('Invalid', `this is not a whole snapshot: ${why}`, { op: 'snapshot' });
