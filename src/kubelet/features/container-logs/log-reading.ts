import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import type { PodUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { LogFile } from '../../ports/log-files.ts';
import type { LogChain } from './log-chain.ts';

/** Reports whether a container still runs, and notifies of changes. */
export interface ContainerStates {
  get(uid: PodUid): PodRuntimeStatus | undefined;
  whenChanged(uid: PodUid, signal: AbortSignal): Promise<unknown>;
}

/** Decodes chunks of a log. `T` is the result of one or several chunks. */
export interface ChunkDecoder<T extends { readonly length: number }> {
  /** Whether the reader needs no more data. */
  readonly isFull: boolean;
  /** The number of bytes of an incomplete line. */
  readonly pendingBytes: number;
  push(chunk: Uint8Array): T;
  /** Returns the rest at the end of a file that will not grow. */
  flush(): T;
}

const CHUNK_BYTES = 64 * 1024;
/** The maximum delay of a line if an event is lost (upstream: logForceCheckPeriod). */
const FORCED_LOOK_MS = 1000;
/**
 * A file is complete when it was quiet for this long after it was rotated or its container ended, because the runtime
 * buffers writes.
 */
const SETTLE_MS = 250;
/**
 * Each written line causes an event. Events within this time after a read share the next read, because a read for each
 * would use a quarter of a core for one busy container.
 */
const LOOK_PAUSE_MS = 10;

export class Liveness {
  readonly #states: ContainerStates;
  readonly #uid: PodUid;
  readonly #container: ContainerRuntimeStatus;

  constructor(states: ContainerStates, uid: PodUid, container: ContainerRuntimeStatus) {
    this.#states = states;
    this.#uid = uid;
    this.#container = container;
  }

  isRunning(): boolean {
    const now = this.#states.get(this.#uid)?.containers.find(({ id }) => id === this.#container.id);
    return now !== undefined && now.state !== 'exited';
  }

  whenChanged(signal: AbortSignal): Promise<unknown> {
    return this.#states.whenChanged(this.#uid, signal);
  }
}

/** Reads one log once, or follows it. */
export class LogReading<T extends { readonly length: number }> {
  readonly #chain: LogChain;
  readonly #decoder: ChunkDecoder<T>;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;

  constructor(parts: { chain: LogChain; decoder: ChunkDecoder<T>; clock: Clock; signal: AbortSignal }) {
    this.#chain = parts.chain;
    this.#decoder = parts.decoder;
    this.#clock = parts.clock;
    this.#signal = parts.signal;
  }

  /**
   * Reads the current content. Reading stops at the line that was last when it began, so that a program that keeps
   * writing does not prolong it. `onEnd` receives that position. It is not called if the reader stopped earlier.
   */
  async *once(startBytes: number, endBytes: number, onEnd?: (positionBytes: number) => void): AsyncGenerator<T> {
    const file = this.#chain.current;
    let position = startBytes;
    while (!this.#signal.aborted && !this.#decoder.isFull) {
      const beyond = position >= endBytes;
      if (beyond && this.#decoder.pendingBytes === 0) return onEnd?.(position);
      const chunk = await file.read(position, beyond ? CHUNK_BYTES : Math.min(CHUNK_BYTES, endBytes - position));
      const newline = beyond ? chunk.indexOf(0x0a) : -1;
      position += newline < 0 ? chunk.length : newline + 1;
      const out =
        chunk.length === 0
          ? this.#decoder.flush()
          : this.#decoder.push(newline < 0 ? chunk : chunk.subarray(0, newline + 1));
      if (out.length > 0) yield out;
      if (chunk.length === 0) return onEnd?.(position);
    }
  }

  /** Follows the log. `onCaughtUp` is called each time when all available lines were read. */
  async *follow(startBytes: number, liveness: Liveness, onCaughtUp: () => void = () => undefined): AsyncGenerator<T> {
    const stop = new AbortController();
    this.#wakeOnChange(liveness, stop.signal);
    this.#chain.follow();
    // Adds files that were rotated between opening and watching.
    await this.#chain.look();
    try {
      yield* this.#followAll(startBytes, liveness, onCaughtUp);
    } finally {
      stop.abort();
    }
  }

  async *#followAll(startBytes: number, liveness: Liveness, onCaughtUp: () => void): AsyncGenerator<T> {
    let position = startBytes;
    let quietSinceMs: number | undefined;
    while (!this.#signal.aborted) {
      const chunk = await this.#chain.current.read(position, CHUNK_BYTES);
      if (chunk.length > 0) {
        position += chunk.length;
        quietSinceMs = undefined;
        const out = this.#decoder.push(chunk);
        if (out.length > 0) yield out;
        if (this.#decoder.isFull) return;
        continue;
      }
      if (await truncated(this.#chain.current, position)) {
        position = 0;
        continue;
      }
      if (!this.#chain.hasNext) await this.#chain.look();
      if (!this.#chain.hasNext) onCaughtUp();
      const isComplete = this.#chain.hasNext || !liveness.isRunning();
      const nowMs = this.#clock.monotonicMs();
      quietSinceMs = isComplete ? (quietSinceMs ?? nowMs) : undefined;
      const leftMs = quietSinceMs === undefined ? FORCED_LOOK_MS : quietSinceMs + SETTLE_MS - nowMs;
      if (leftMs > 0) {
        await this.#chain.changed(leftMs, this.#signal);
        await this.#pauseUntil(nowMs + LOOK_PAUSE_MS);
        continue;
      }
      const rest = this.#decoder.flush();
      if (rest.length > 0) yield rest;
      if (!this.#chain.hasNext) return;
      await this.#chain.next();
      position = 0;
      quietSinceMs = undefined;
    }
  }

  async #pauseUntil(atMs: number): Promise<void> {
    const leftMs = atMs - this.#clock.monotonicMs();
    if (leftMs > 0 && !this.#signal.aborted) await sleep(this.#clock, leftMs, this.#signal).catch(() => undefined);
  }

  #wakeOnChange(liveness: Liveness, stop: AbortSignal): void {
    const again = (): void => {
      if (stop.aborted) return;
      this.#chain.notify();
      liveness.whenChanged(stop).then(again, () => undefined);
    };
    again();
  }
}

/** Whether another tool rotated the log by copying and truncating the file. */
async function truncated(file: LogFile, position: number): Promise<boolean> {
  return position > 0 && (await file.sizeBytes()) < position;
}
