import assert from 'node:assert/strict';
import { isKind } from '../../../base/errors.ts';
import type { Storage, StoredList, WriteResult } from '../storage.ts';
import type { WatchLog } from './watch-log.ts';

/** A store under test. It may contain other keys; the test uses only those below `prefix`. */
export interface StorageHarness {
  readonly storage: Storage;
  readonly prefix: string;
  /** Lets time pass for the store. Real stores may take the time that they need and return immediately. */
  elapse(seconds: number): Promise<void>;
  /** Simulates a restart of the process. The old storage is closed. */
  reopen(): Promise<Storage>;
  stop(): Promise<void>;
}

/** The store of one test, and the watches that the test opens. */
export interface StorageFixture {
  readonly storage: Storage;
  readonly harness: StorageHarness;
  readonly key: (name: string) => string;
  readonly watch: (after: number, prefix?: string) => WatchLog;
}

/** Returns the revision of a write that must have succeeded. */
export function done(result: WriteResult): number {
  assert.equal(result.outcome, 'done', `refused: ${JSON.stringify(result)}`);
  return result.outcome === 'done' ? result.revision : 0;
}

export const keysOf = (list: StoredList): string[] => list.items.map(({ key }) => key);
export const pairsOf = (list: StoredList): string[] => list.items.map(({ key, value }) => `${key}=${value}`);
export const rejectsWith =
  (kind: 'Conflict' | 'Invalid' | 'Aborted') =>
  (error: unknown): boolean =>
    isKind(error, kind);
