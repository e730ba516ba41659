import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { HostFiles } from '../../ports/host-files.ts';

/** When the last graceful shutdown began and ended, in wall-clock milliseconds; undefined if it did not. */
export interface ShutdownTimes {
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

export const noShutdown: ShutdownTimes = { startMs: undefined, endMs: undefined };

/** The zero time of Go. */
const UNSET = '0001-01-01T00:00:00Z';
const FILE_LIMIT_BYTES = 4096;

/** Encodes the times in the format of upstream's file (upstream: nodeshutdown/storage.go, state). */
export function encodeTimes({ startMs, endMs }: ShutdownTimes): string {
  return JSON.stringify({ startTime: goTime(startMs), endTime: goTime(endMs) });
}

/** Decodes the times; undefined if the text is not such a state. */
export function decodeTimes(text: string): ShutdownTimes | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined; // return undefined; // The text is truncated, so the caller sets the file aside.
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
 * Reads and writes the file `graceful_node_shutdown_state`, which survives the shutdown. A corrupt file is renamed and
 * logged. A failed write is only logged, because the shutdown must continue.
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
