import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import { errorMessage, isKind } from '../../base/errors.ts';
import { KeyedQueue } from '../../base/keyed-queue.ts';
import type { Logger } from '../../base/log.ts';
import { untilAborted } from '../../base/until-aborted.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import { dockerSince, parseNanos } from '../plan/docker-time.ts';
import { AlreadyWritten, criLogLine, LogFrames, TerminalLines } from '../plan/log-lines.ts';
import type { LogEnd, LogPiece } from '../plan/log-lines.ts';
import { LineWriter } from './line-writer.ts';

/** A log file in the CRI's format. */
export interface LogFile {
  append(lines: readonly Uint8Array[]): Promise<void>;
  close(): Promise<void>;
}

export interface LogFiles {
  /** Opens for appending, creates a missing file, and removes a last line that a crash left incomplete. */
  open(path: string): Promise<{ readonly file: LogFile; readonly end: LogEnd | undefined }>;
}

export interface ContainerLogsParts {
  readonly engine: Pick<DockerEngine, 'readLogs' | 'inspectContainer'>;
  readonly files: LogFiles;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface LoggedContainer {
  readonly id: string;
  /** An absolute path; empty if the pod wants no log. */
  readonly path: string;
  readonly isTty: boolean;
}

const FIRST_RETRY_MS = 100;
const MOST_RETRY_MS = 10_000;

interface Follower {
  readonly stop: AbortController;
  /** Opens the file again, between two writes. Absent while the file is not open: it is then opened by name later. */
  reopen: (() => Promise<void>) | undefined;
  /** This log took too long once. Nothing waits for it again. */
  isLate: boolean;
  readonly done: Promise<void>;
}

/**
 * Copies the logs of containers from Docker to the files that the CRI names: the kubelet reads and rotates one format.
 * After a restart each copy continues where the file ends, so no line is lost or written twice while Docker keeps it.
 */
export class ContainerLogs {
  readonly #parts: ContainerLogsParts;
  readonly #followers = new Map<string, Follower>();

  constructor(parts: ContainerLogsParts) {
    this.#parts = parts;
  }

  /** Creates the file before the container starts, so that it exists while the container runs. */
  async prepare({ path }: LoggedContainer): Promise<void> {
    if (path !== '') await (await this.#parts.files.open(path)).file.close();
  }

  /** Copies from the container's start to its end. A container that is already followed is not changed. */
  follow(container: LoggedContainer): void {
    if (container.path === '' || this.#followers.has(container.id)) return;
    const stop = new AbortController();
    const { promise, resolve } = Promise.withResolvers<void>();
    const follower: Follower = { stop, reopen: undefined, isLate: false, done: promise };
    this.#followers.set(container.id, follower);
    void this.#run(container, follower).finally(() => {
      this.#followers.delete(container.id);
      resolve();
    });
  }

  /** Creates the file again after the kubelet renamed it. False: the container is not followed. */
  async reopen(id: string): Promise<boolean> {
    const follower = this.#followers.get(id);
    await follower?.reopen?.();
    return follower !== undefined;
  }

  /** Resolves when the complete output of an ended container is in its file, or after `limitMs`. */
  async settled(id: string, limitMs: number): Promise<void> {
    const follower = this.#followers.get(id);
    if (follower === undefined || follower.isLate) return;
    const limit = new AbortController();
    const timer = this.#parts.clock.setTimer(limitMs, () => {
      follower.isLate = true;
      limit.abort();
    });
    await untilAborted(follower.done, limit.signal, () => undefined).catch(() => undefined);
    timer.cancel();
  }

  async stop(): Promise<void> {
    const followers = [...this.#followers.values()];
    for (const { stop } of followers) stop.abort();
    await Promise.all(followers.map(({ done }) => done));
  }

  async #run(container: LoggedContainer, follower: Follower): Promise<void> {
    const { clock, log } = this.#parts;
    const { signal } = follower.stop;
    let retryMs = FIRST_RETRY_MS;
    while (!signal.aborted) {
      try {
        await this.#copy(container, follower, true);
        if (!(await this.#isRunning(container.id))) {
          // Docker may end the log stream of an ended container before its last lines.
          await this.#copy(container, follower, false);
          return;
        }
      } catch (error) {
        if (signal.aborted || isKind(error, 'NotFound')) return;
        log.warn('the log of a container is interrupted', { id: container.id, error: errorMessage(error), retryMs });
      }
      await sleep(clock, retryMs, signal).catch(() => undefined);
      retryMs = Math.min(retryMs * 2, MOST_RETRY_MS);
    }
  }

  async #copy({ id, path, isTty }: LoggedContainer, follower: Follower, isFollowed: boolean): Promise<void> {
    const { engine, files } = this.#parts;
    const opened = await files.open(path);
    const { end } = opened;
    let { file } = opened;
    const turns = new KeyedQueue();
    const inTurn = (work: () => Promise<void>): Promise<void> => turns.run(path, work);
    follower.reopen = () =>
      inTurn(async () => {
        await file.close();
        ({ file } = await files.open(path));
      });
    const broken = new AbortController();
    const writer = new LineWriter(async (lines) => {
      try {
        await inTurn(() => file.append(lines));
      } catch (error) {
        broken.abort();
        throw error;
      }
    });
    try {
      const written = new AlreadyWritten(end);
      const reader = isTty ? new TerminalLines() : new LogFrames();
      const since = end === undefined ? '0' : dockerSince(parseNanos(end.time));
      const write = async (pieces: readonly LogPiece[]): Promise<void> => {
        const lines = pieces.filter((piece) => written.isNew(piece)).map(criLogLine);
        if (lines.length > 0) await writer.push(lines);
      };
      const signal = AbortSignal.any([follower.stop.signal, broken.signal]);
      for await (const chunk of await engine.readLogs(id, { since, isFollowed, signal }))
        await write(reader.push(chunk));
      if (reader instanceof TerminalLines) await write(reader.end());
      await writer.end();
    } catch (error) {
      // The write failed first. The stream ended because of it.
      if (broken.signal.aborted) await writer.end();
      throw error;
    } finally {
      follower.reopen = undefined;
      await inTurn(() => file.close());
    }
  }

  async #isRunning(id: string): Promise<boolean> {
    return (await this.#parts.engine.inspectContainer(id)).State?.Running === true;
  }
}
