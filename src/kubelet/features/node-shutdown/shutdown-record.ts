import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';

/** When the last graceful shutdown began and ended, in wall milliseconds; undefined: it did not. */
export interface ShutdownTimes {
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

export const noShutdown: ShutdownTimes = { startMs: undefined, endMs: undefined };

/** Go's zero time. */
const UNSET = '0001-01-01T00:00:00Z';
const FILE_LIMIT_BYTES = 4096;

/** In the format of upstream's file (upstream: nodeshutdown/storage.go, state). */
export function encodeTimes({ startMs, endMs }: ShutdownTimes): string {
  return JSON.stringify({ startTime: goTime(startMs), endTime: goTime(endMs) });
}

/** Undefined for a text that is no such state. */
export function decodeTimes(text: string): ShutdownTimes | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // A file that was cut off: the caller sets it aside.
  }
  if (typeof value !== 'object' || value === null) return undefined;
  const { startTime = UNSET, endTime = UNSET } = value as { startTime?: unknown; endTime?: unknown };
  const [startMs, endMs] = [wallMs(startTime), wallMs(endTime)];
  return startMs === 'invalid' || endMs === 'invalid' ? undefined : { startMs, endMs };
}

function goTime(ms: number | undefined): string {
  return ms === undefined ? UNSET : new Date(ms).toISOString();
}

function wallMs(text: unknown): number | undefined | 'invalid' {
  const ms = typeof text === 'string' ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(ms)) return 'invalid';
  return ms > 0 ? ms : undefined;
}

/**
 * The file `graceful_node_shutdown_state`, which survives the shutdown. One that is corrupt is set aside and logged;
 * one that cannot be written is only logged, because a shutdown must go on.
 */
export class ShutdownRecord {
  readonly #place: { path: string; files: HostFiles; log: Logger };

  constructor(place: { rootDir: string; files: HostFiles; log: Logger }) {
    const { rootDir, files, log } = place;
    this.#place = { path: `${rootDir}/graceful_node_shutdown_state`, files, log };
  }

  async load(): Promise<ShutdownTimes> {
    const { path, files, log } = this.#place;
    try {
      const times = decodeTimes(await files.readText(path, FILE_LIMIT_BYTES));
      if (times !== undefined) return times;
      log.error('the state of the last graceful shutdown is corrupt; it was set aside', {
        path,
        movedTo: `${path}.corrupt`,
      });
      await files.rename(path, `${path}.corrupt`);
    } catch (error) {
      if (!isKind(error, 'NotFound'))
        log.error('Failed to load graceful shutdown state', { path, error: errorMessage(error) });
    }
    return noShutdown;
  }

  async save(times: ShutdownTimes): Promise<void> {
    const { path, files, log } = this.#place;
    try {
      await files.writeFileAtomic(path, encodeTimes(times), 0o644);
    } catch (error) {
      log.error('Failed to store graceful shutdown state', { path, error: errorMessage(error) });
    }
  }
}
