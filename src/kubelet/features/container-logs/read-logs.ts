import type { Clock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { LogFiles } from '../../ports/log-files.ts';
import { LogChain } from './log-chain.ts';
import type { PodNames } from './log-layout.ts';
import { podLogDirectory } from './log-layout.ts';
import type { LogEntry } from './log-parse.ts';
import type { ContainerStates } from './log-reading.ts';
import { Liveness, LogReading } from './log-reading.ts';
import { EntryDecoder, LogDecoder } from './log-writer.ts';
import { findTailStart } from './tail-start.ts';

/** What part of a log is requested (upstream: PodLogOptions). */
export interface LogQuery {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  readonly sinceSeconds?: number;
  readonly sinceTimeMs?: number;
  readonly tailLines?: number;
  readonly limitBytes?: number;
  readonly stream?: 'stdout' | 'stderr';
}

export interface LogTarget {
  readonly pod: PodNames;
  readonly container: string;
  /** The pod's status in the runtime; undefined if the runtime does not know the pod. */
  readonly runtime: PodRuntimeStatus | undefined;
  /** Why the container waits, from the pod's status. It is part of the error if there is no log. */
  readonly waitingReason?: string;
}

/** A position in a log: `bytes` of the file with this inode. */
export interface LogPosition {
  readonly inode: number;
  readonly bytes: number;
}

/** Called when a client has received the complete log of a container. */
export interface WholeRead {
  readonly container: ContainerRuntimeStatus;
  readonly end: LogPosition;
}

export interface LogReaderParts {
  readonly logFiles: LogFiles;
  readonly files: Pick<HostFiles, 'lstat' | 'watch'>;
  readonly states: ContainerStates;
  readonly podLogsDir: string;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onWholeRead?: (read: WholeRead) => void;
}

/**
 * Selects the container whose log is requested. Throws NotFound if it does not exist, and Invalid if it has written
 * nothing yet.
 */
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
 * Reads logs of containers (upstream: cri-client pkg/logs). A follower gets each line exactly once, across rotations,
 * and ends when its container has ended and everything is read. Files that were rotated before are not read.
 */
export class ContainerLogReader {
  readonly #parts: LogReaderParts;

  constructor(parts: LogReaderParts) {
    this.#parts = parts;
  }

  /** Reads a log. Rejects with NotFound or Invalid before anything is read. `signal` may end the iteration early. */
  async read(target: LogTarget, query: LogQuery, signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    const status = selectLogContainer(target, query.previous);
    const chain = this.#chainOf(target.pod, status);
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
      const noteEnd = isWhole(query)
        ? (bytes: number): void => this.#parts.onWholeRead?.({ container: status, end: { inode: file.inode, bytes } })
        : undefined;
      return closing(
        query.follow
          ? reading.follow(startBytes, this.#livenessOf(target.pod, status))
          : reading.once(startBytes, sizeBytes, noteEnd),
        () => chain.close(),
        signal,
      );
    } catch (error) {
      await chain.close();
      throw error;
    }
  }

  /**
   * Returns the entries of one container's log in order, until it has ended and everything is read. They begin after
   * `from` if that position is in the current log, else at its beginning. `onCaughtUp` is called each time when all
   * available entries were read. `look` triggers a read immediately. Rejects as `read` does.
   */
  async followEntries(
    target: { pod: PodNames; container: ContainerRuntimeStatus },
    options: { from: LogPosition | undefined; onCaughtUp: () => void },
    signal: AbortSignal,
  ): Promise<{ entries: AsyncIterable<readonly LogEntry[]>; look: () => void }> {
    const { pod, container } = target;
    const { from, onCaughtUp } = options;
    const chain = this.#chainOf(pod, container);
    const file = await chain.open();
    const reading = new LogReading({ chain, decoder: new EntryDecoder(), clock: this.#parts.clock, signal });
    const entries = reading.follow(
      from?.inode === file.inode ? from.bytes : 0,
      this.#livenessOf(pod, container),
      onCaughtUp,
    );
    return { entries: closing(entries, () => chain.close(), signal), look: () => chain.notify() };
  }

  #chainOf(pod: PodNames, { logPath, name }: ContainerRuntimeStatus): LogChain {
    const beneath = podLogDirectory(this.#parts.podLogsDir, pod);
    if (!logPath.startsWith(`${beneath}/`) || logPath.includes('/../'))
      throw new KubeletError(
        'Invalid',
        `the log of container ${JSON.stringify(name)} is not kept in a file below ${beneath}`,
      );
    return new LogChain(this.#parts, logPath, beneath);
  }

  #livenessOf({ uid }: PodNames, container: ContainerRuntimeStatus): Liveness {
    return new Liveness(this.#parts.states, uid as PodUid, container);
  }
}

const isWhole = ({ previous, sinceSeconds, sinceTimeMs, tailLines, limitBytes, stream }: LogQuery): boolean =>
  !previous && [sinceSeconds, sinceTimeMs, tailLines, limitBytes, stream].every((limit) => limit === undefined);

/** Frees the resources of a stream when it ends, is closed early or is aborted, even if it was never read. */
function closing<T>(stream: AsyncGenerator<T>, close: () => Promise<void>, signal: AbortSignal): AsyncIterable<T> {
  const end = async (): Promise<IteratorResult<T>> => {
    signal.removeEventListener('abort', endNow);
    await stream.return(undefined);
    await close();
    return { done: true, value: undefined };
  };
  // The file was only read, so an error of closing it is ignored.
  const endNow = (): void => void end().catch(() => undefined);
  signal.addEventListener('abort', endNow, { once: true });
  const iterator: AsyncIterator<T> = {
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
