/**
 * Writes a table to the kernel and maintains it. Invariants:
 * 1. The first write replaces the table of an earlier run in one transaction.
 * 2. Later writes contain only the changes. If the kernel refuses one, the whole table is written immediately: nft
 *    before 1.0.7 cannot read back everything that it has written, and refuses new rules that use some maps.
 * 3. A check every `CHECK_MS` detects parts that other programs have removed.
 */
import type { Clock } from '../../base/clock.ts';
import { errorMessage } from '../../base/errors.ts';
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

  /** Rejects with the error of the kernel or of nft. Calls never overlap. */
  async write(): Promise<void> {
    const { draft, nft, clock } = this.#parts;
    if (this.#isWritten && clock.monotonicMs() - this.#checkedMs >= CHECK_MS) await this.#check();
    if (this.#isWritten && (await this.#writeChanges())) return;
    this.#isWritten = false;
    await nft.apply(draft.takeWhole());
    this.#isWritten = true;
    this.#checkedMs = clock.monotonicMs();
  }

  /** Writes the changes. Returns false if the kernel refused them, and then the state of the table is unknown. */
  async #writeChanges(): Promise<boolean> {
    const { draft, nft, log } = this.#parts;
    const text = draft.takeChanges();
    if (text === undefined) return true;
    try {
      await nft.apply(text);
      return true;
    } catch (error) {
      log.info('a change of a table was refused; writing it whole', { table: draft.name, error: errorMessage(error) });
      return false;
    }
  }

  /** Checks the table. Changes that are not written yet are not differences. */
  async #check(): Promise<void> {
    const { draft, nft, clock, log } = this.#parts;
    if (!(await this.#writeChanges())) {
      this.#isWritten = false;
      return;
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
