import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { LogFile, LogFiles } from '../../ports/log-files.ts';
import { LogChain } from './log-chain.ts';
import { podLogDirectory, type PodNames } from './log-layout.ts';
import { LogDecoder } from './log-writer.ts';
import { findTailStart } from './tail-start.ts';

/** What part of a log is wanted (upstream: PodLogOptions). */
export interface LogQuery {
  follow: boolean;
  previous: boolean;
  timestamps: boolean;
  sinceSeconds?: number;
  sinceTimeMs?: number;
  tailLines?: number;
  limitBytes?: number;
  stream?: 'stdout' | 'stderr';
}

export interface LogTarget {
  pod: PodNames;
  container: string;
  /** The pod as the runtime has it; undefined when nothing of it is there. */
  runtime: PodRuntimeStatus | undefined;
  /** Why the container waits, from the pod's status, to say so when there is no log. */
  waitingReason?: string;
}

/** Tells whether a container still runs, and wakes those who wait for that to change. */
export interface ContainerStates {
  get(uid: PodUid): PodRuntimeStatus | undefined;
  whenChanged(uid: PodUid, signal: AbortSignal): Promise<unknown>;
}

export interface LogReaderParts {
  logFiles: LogFiles;
  files: Pick<HostFiles, 'lstat' | 'watch'>;
  states: ContainerStates;
  podLogsDir: string;
  clock: Clock;
  log: Logger;
}

const CHUNK_BYTES = 64 * 1024;
/** Events may be lost; then this is how late a line is (upstream: logForceCheckPeriod). */
const FORCED_LOOK_MS = 1000;
/** For so long a file must have been quiet, after it was rotated or its container ended, to be taken as complete: the runtime's own buffers. */
const SETTLE_MS = 250;

/** The container whose log is meant. Throws NotFound for one that does not exist, Invalid for one that has written nothing yet. */
function selectLogContainer(target: LogTarget, previous: boolean): ContainerRuntimeStatus {
  const { container, pod, runtime } = target;
  const all = (runtime?.containers ?? [])
    .filter(({ name }) => name === container)
    .sort((left, right) => right.attempt - left.attempt || right.createdAtMs - left.createdAtMs);
  const started = all.filter(({ state, startedAtMs }) => state !== 'created' || startedAtMs > 0);
  if (previous) {
    const before = started.filter((candidate) => candidate !== all[0] || candidate.state === 'created')[0];
    if (before === undefined)
      throw new KubeletError(
        'Invalid',
        `previous terminated container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.name)} not found`,
      );
    return before;
  }
  const newest = started[0];
  if (newest !== undefined) return newest;
  const why = target.waitingReason === undefined ? ' - no logs yet' : `: ${waitingText(target.waitingReason)}`;
  throw new KubeletError(
    'Invalid',
    `container ${JSON.stringify(container)} in pod ${JSON.stringify(pod.name)} is waiting to start${why}`,
  );
}

function waitingText(reason: string): string {
  if (reason === 'ErrImagePull') return "image can't be pulled";
  return reason === 'ImagePullBackOff' ? 'trying and failing to pull image' : reason;
}

/**
 * Reads logs of containers (upstream: cri-client pkg/logs). A follower gets each line exactly once, across rotations, and ends when its container
 * has ended and all is read. Rotated files are not read back.
 */
export class ContainerLogReader {
  readonly #parts: LogReaderParts;

  constructor(parts: LogReaderParts) {
    this.#parts = parts;
  }

  /** Rejects with NotFound or Invalid before anything is read; what is iterated may end early by `signal`. */
  async read(target: LogTarget, query: LogQuery, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const status = selectLogContainer(target, query.previous);
    const beneath = podLogDirectory(this.#parts.podLogsDir, target.pod);
    if (!status.logPath.startsWith(`${beneath}/`) || status.logPath.includes('/../'))
      throw new KubeletError(
        'Invalid',
        `the log of container ${JSON.stringify(target.container)} is not kept in a file below ${beneath}`,
      );
    const chain = new LogChain(this.#parts, status.logPath, beneath);
    const file = await chain.open();
    try {
      const sizeBytes = await file.sizeBytes();
      const startBytes =
        query.tailLines === undefined ? 0 : (await findTailStart(file, sizeBytes, query.tailLines)).offsetBytes;
      const sinceMs =
        query.sinceTimeMs ??
        (query.sinceSeconds === undefined ? undefined : this.#parts.clock.nowMs() - query.sinceSeconds * 1000);
      const decoder = new LogDecoder({
        timestamps: query.timestamps,
        sinceMs,
        limitBytes: query.limitBytes,
        stream: query.stream,
      });
      const reading = new LogReading({ chain, decoder, clock: this.#parts.clock, signal });
      return closing(
        query.follow
          ? reading.follow(startBytes, new Liveness(this.#parts.states, target.pod.uid as PodUid, status))
          : reading.once(startBytes, sizeBytes),
        () => chain.close(),
        signal,
      );
    } catch (error) {
      await chain.close();
      throw error;
    }
  }
}

/** Frees what a stream holds when it ends, is left or is aborted, also when nobody ever began to read it. */
function closing(
  stream: AsyncGenerator<Uint8Array>,
  close: () => Promise<void>,
  signal: AbortSignal,
): AsyncIterable<Uint8Array> {
  const end = async (): Promise<IteratorResult<Uint8Array>> => {
    signal.removeEventListener('abort', endNow);
    await stream.return(undefined);
    await close();
    return { done: true, value: undefined };
  };
  // What goes wrong in closing a file that was only read harms nobody.
  const endNow = (): void => void end().catch(() => undefined);
  signal.addEventListener('abort', endNow, { once: true });
  const iterator: AsyncIterator<Uint8Array> = {
    next: async () => {
      try {
        const result = await stream.next();
        return result.done === true ? await end() : result;
      } catch (error) {
        await close();
        throw error;
      }
    },
    return: end,
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

class Liveness {
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

/** One reading of one log. */
class LogReading {
  readonly #chain: LogChain;
  readonly #decoder: LogDecoder;
  readonly #clock: Clock;
  readonly #signal: AbortSignal;

  constructor(parts: { chain: LogChain; decoder: LogDecoder; clock: Clock; signal: AbortSignal }) {
    this.#chain = parts.chain;
    this.#decoder = parts.decoder;
    this.#clock = parts.clock;
    this.#signal = parts.signal;
  }

  /** What is there now. A program that writes as fast as this reads does not keep it going: it ends with the line the log ended in at first. */
  async *once(startBytes: number, endBytes: number): AsyncGenerator<Uint8Array> {
    const file = this.#chain.current;
    let position = startBytes;
    while (!this.#signal.aborted && !this.#decoder.isFull) {
      const beyond = position >= endBytes;
      if (beyond && this.#decoder.pendingBytes === 0) return;
      const chunk = await file.read(position, beyond ? CHUNK_BYTES : Math.min(CHUNK_BYTES, endBytes - position));
      position += chunk.length;
      const newline = beyond ? chunk.indexOf(0x0a) : -1;
      const out =
        chunk.length === 0
          ? this.#decoder.flush()
          : this.#decoder.push(newline < 0 ? chunk : chunk.subarray(0, newline + 1));
      if (out.length > 0) yield out;
      if (chunk.length === 0) return;
    }
  }

  async *follow(startBytes: number, liveness: Liveness): AsyncGenerator<Uint8Array> {
    const stop = new AbortController();
    this.#wakeOnChange(liveness, stop.signal);
    this.#chain.follow();
    // What was rotated between opening and watching.
    await this.#chain.look();
    try {
      yield* this.#followAll(startBytes, liveness);
    } finally {
      stop.abort();
    }
  }

  async *#followAll(startBytes: number, liveness: Liveness): AsyncGenerator<Uint8Array> {
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
      const isComplete = this.#chain.hasNext || !liveness.isRunning();
      const nowMs = this.#clock.monotonicMs();
      quietSinceMs = isComplete ? (quietSinceMs ?? nowMs) : undefined;
      const leftMs = quietSinceMs === undefined ? FORCED_LOOK_MS : quietSinceMs + SETTLE_MS - nowMs;
      if (leftMs > 0) {
        await this.#chain.changed(leftMs, this.#signal);
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

  #wakeOnChange(liveness: Liveness, stop: AbortSignal): void {
    const again = (): void => {
      if (stop.aborted) return;
      this.#chain.notify();
      liveness.whenChanged(stop).then(again, () => undefined);
    };
    again();
  }
}

/** Somebody else's rotation copied the file and emptied it. */
async function truncated(file: LogFile, position: number): Promise<boolean> {
  return position > 0 && (await file.sizeBytes()) < position;
}
