import { fallingPerMs, computePauseMs } from './next-reading.ts';
import type { DiskSource, QuickSource, Reading, SignalReader } from './signal-reader.ts';
import type { EvictionSignal, Observation, Observations, SignalSource } from './signals.ts';
import { signalFacts } from './signals.ts';
import type { Threshold } from './thresholds.ts';

export interface SignalReadingsParts {
  readonly reader: Pick<SignalReader, 'readNow' | 'readDisk'>;
  readonly thresholds: () => readonly Threshold[];
  readonly monotonicMs: () => number;
  /** Called when a file system was read. */
  readonly onRead: () => void;
}

const quick: readonly QuickSource[] = ['memory', 'pids'];
const disks: readonly DiskSource[] = ['nodefs', 'imagefs', 'containerfs'];
/**
 * The limit for a hung disk. Its old value expires after this time, and it is not read again before the last read has
 * ended.
 */
const READING_LIMIT_MS = 60_000;

/**
 * The newest reading of each signal, and when each source is to be read again. File systems are read in the background:
 * one that hangs delays no reading of memory.
 */
export class SignalReadings {
  readonly #parts: SignalReadingsParts;
  readonly #observations = new Map<EvictionSignal, Observation>();
  readonly #ratePerMs = new Map<EvictionSignal, number>();
  readonly #dueMs = new Map<SignalSource, number>();
  readonly #reading = new Map<DiskSource, { promise: Promise<void>; sinceMs: number }>();

  constructor(parts: SignalReadingsParts) {
    this.#parts = parts;
  }

  get all(): Observations {
    return this.#observations;
  }

  /** Reads the sources that are due. */
  readDue(): void {
    const nowMs = this.#parts.monotonicMs();
    for (const source of this.#sources()) {
      if ((this.#dueMs.get(source) ?? -Infinity) > nowMs) continue;
      if (isQuick(source)) this.#note(source, this.#parts.reader.readNow(source));
      else void this.#readDisk(source);
    }
  }

  /** Reads these sources now, whether or not they are due. Resolves when all have responded. */
  async readAll(sources: readonly SignalSource[] = this.#sources()): Promise<void> {
    for (const source of sources) if (isQuick(source)) this.#note(source, this.#parts.reader.readNow(source));
    await Promise.all(sources.map((source) => (isQuick(source) ? undefined : this.#readDisk(source, true))));
  }

  /** Makes all sources due immediately, because their values are outdated. */
  expire(): void {
    this.#dueMs.clear();
  }

  /** Returns the milliseconds until the next source is due. */
  pauseMs(): number {
    const nowMs = this.#parts.monotonicMs();
    const due = this.#sources().map((source) => (this.#dueMs.get(source) ?? nowMs) - nowMs);
    return Math.max(0, Math.min(...due, ...(due.length === 0 ? [READING_LIMIT_MS] : [])));
  }

  /** Returns the sources to read. Signals without a threshold are not read. */
  #sources(): SignalSource[] {
    const used = new Set(this.#parts.thresholds().map(({ signal }) => signalFacts[signal].source));
    return [...quick, ...disks].filter((source) => used.has(source));
  }

  #readDisk(source: DiskSource, again = false): Promise<void> {
    const nowMs = this.#parts.monotonicMs();
    const running = this.#reading.get(source);
    if (running !== undefined && nowMs - running.sinceMs < READING_LIMIT_MS)
      return again ? running.promise.then(() => this.#readDisk(source)) : running.promise;
    const promise = this.#parts.reader.readDisk(source).then((reading) => {
      this.#reading.delete(source);
      this.#note(source, reading);
      this.#parts.onRead();
    });
    this.#reading.set(source, { promise, sinceMs: nowMs });
    // The source is not due until it has responded.
    this.#dueMs.set(source, nowMs + READING_LIMIT_MS);
    return promise;
  }

  #note(source: SignalSource, reading: Reading): void {
    for (const [signal, observed] of reading) {
      this.#ratePerMs.set(signal, fallingPerMs(this.#observations.get(signal), observed));
      this.#observations.set(signal, observed);
    }
    const missing = (Object.keys(signalFacts) as EvictionSignal[]).filter(
      (signal) => signalFacts[signal].source === source && !reading.some(([known]) => known === signal),
    );
    // A source that cannot be read any more becomes unknown; its last value is not kept.
    for (const signal of missing) this.#observations.delete(signal);
    const pauseMs = computePauseMs(source, this.#parts.thresholds(), this.#observations, this.#ratePerMs);
    this.#dueMs.set(source, this.#parts.monotonicMs() + pauseMs);
  }
}

function isQuick(source: SignalSource): source is QuickSource {
  return source === 'memory' || source === 'pids';
}
