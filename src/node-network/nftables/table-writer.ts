/**
 * Brings a table into the kernel and keeps it there.
 * 1. The first writing replaces whatever an earlier run left, in one transaction.
 * 2. Later ones hold what has changed. What a writing failed at is unknown: the next one writes all.
 * 3. A check every `CHECK_MS` finds what others have removed.
 */
import type { Clock } from '../../base/clock.ts';
import type { Logger } from '../../base/log.ts';
import { isTableWhole } from './is-table-whole.ts';
import type { Nft } from './nft-port.ts';
import type { TableDraft } from './table-draft.ts';

export const CHECK_MS = 10_000;

export interface TableWriterParts {
  readonly draft: TableDraft;
  readonly nft: Nft;
  readonly clock: Clock;
  readonly log: Logger;
}

export class TableWriter {
  readonly #parts: TableWriterParts;
  #isWritten = false;
  #checkedMs = -Infinity;

  constructor(parts: TableWriterParts) {
    this.#parts = parts;
  }

  /** Rejects with what the kernel or the program said. Never called twice at once. */
  async write(): Promise<void> {
    const { draft, nft, clock } = this.#parts;
    if (this.#isWritten && clock.monotonicMs() - this.#checkedMs >= CHECK_MS) await this.#check();
    const text = this.#isWritten ? draft.takeChanges() : draft.takeWhole();
    if (text === undefined) return;
    const isFirst = !this.#isWritten;
    this.#isWritten = false;
    await nft.apply(text);
    this.#isWritten = true;
    if (isFirst) this.#checkedMs = clock.monotonicMs();
  }

  /** The draft may be ahead of the kernel: what is not written yet is no difference. */
  async #check(): Promise<void> {
    const { draft, nft, clock, log } = this.#parts;
    const pending = draft.takeChanges();
    if (pending !== undefined) {
      this.#isWritten = false;
      await nft.apply(pending);
      this.#isWritten = true;
    }
    this.#checkedMs = clock.monotonicMs();
    if (isTableWhole(draft, await nft.show(draft.family, draft.name))) return;
    log.warn('another program changed a table; writing it again', { table: draft.name });
    this.#isWritten = false;
  }
}

/** Removes a table that an earlier run left. */
export const removeTable = (nft: Nft, family: string, name: string): Promise<void> =>
  nft.apply(`add table ${family} ${name}\ndelete table ${family} ${name}\n`);
