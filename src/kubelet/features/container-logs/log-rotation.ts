import path from 'node:path/posix';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import type { Loop } from '../../../base/loop.ts';
import { createLoop } from '../../../base/loop.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { ContainerId } from '../../model/ids.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import { isLogFolder } from './log-folder.ts';
import { parseLogFileName } from './log-layout.ts';
import type { RotationPolicy } from './rotation-select.ts';
import { computeNextCheckMs, planRotation, selectOverBudget } from './rotation-select.ts';

/** A container that is writing a log. */
export interface WritingContainer {
  readonly id: ContainerId;
  readonly logPath: string;
}

export interface LogRotationParts {
  readonly runtime: Pick<ContainerRuntime, 'reopenContainerLog'>;
  readonly files: HostFiles;
  /**
   * Returns the running containers from the agent's cache. A query of the runtime each time would cost more than the
   * rotation.
   */
  readonly running: () => Iterable<WritingContainer>;
  readonly policy: RotationPolicy;
  /** The field containerLogMonitorInterval. */
  readonly intervalMs: number;
  /** The field containerLogMaxWorkers. */
  readonly workers: number;
  readonly world: { clock: Clock; random: Random; log: Logger };
}

/** The delay of the check of a container that has just started or that writes very fast. */
const SOON_MS = 1000;
const LEAST_MS = 250;

interface Watched {
  sizeBytes: number;
  readonly atMs: number;
  dueAtMs: number;
}

/**
 * Keeps the logs of running containers within their limits (upstream: logs/container_log_manager.go). Invariants:
 * 1. While nothing happens, it makes one stat per container and interval. A log that grows towards the limit is checked
 *    when it will reach it.
 * 2. A rotation renames the file and then reopens it. A process that has the old file open reads it to its end and
 *    loses nothing.
 * 3. If the runtime does not reopen the log, the rename is undone, unless a new log already exists.
 * 4. A container whose rotation fails or is slow delays others at most by using one of the workers.
 */
export class LogRotation {
  readonly #parts: LogRotationParts;
  readonly #loop: Loop;
  readonly #watched = new Map<ContainerId, Watched>();
  readonly #complained = new Map<ContainerId, string>();

  constructor(parts: LogRotationParts) {
    this.#parts = parts;
    this.#loop = createLoop({
      name: 'log-rotation',
      ...parts.world,
      periodMs: () => this.#untilNextMs(),
      pass: () => this.#pass(),
    });
  }

  start(): void {
    if (this.#parts.policy.maxSizeBytes >= 0) this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
  }

  /** Requests a check soon after a container started, because within the interval it could fill a disk. */
  noteStarted(id: ContainerId): void {
    const nowMs = this.#parts.world.clock.monotonicMs();
    this.#watched.set(id, { sizeBytes: 0, atMs: nowMs, dueAtMs: nowMs + SOON_MS });
    this.#loop.wake();
  }

  #untilNextMs(): number {
    const nowMs = this.#parts.world.clock.monotonicMs();
    let next = nowMs + this.#parts.intervalMs;
    for (const { dueAtMs } of this.#watched.values()) if (dueAtMs < next) next = dueAtMs;
    return Math.max(LEAST_MS, next - nowMs);
  }

  async #pass(): Promise<void> {
    const nowMs = this.#parts.world.clock.monotonicMs();
    const gone = new Set(this.#watched.keys());
    const due: WritingContainer[] = [];
    for (const container of this.#parts.running()) {
      gone.delete(container.id);
      if (container.logPath !== '' && (this.#watched.get(container.id)?.dueAtMs ?? 0) <= nowMs) due.push(container);
    }
    for (const id of gone) {
      // A container that was just reported as started may not be listed yet.
      if ((this.#watched.get(id)?.dueAtMs ?? 0) > nowMs) continue;
      this.#watched.delete(id);
      this.#complained.delete(id);
    }
    const work = due.values();
    const worker = async (): Promise<void> => {
      for (const container of work) await this.#check(container);
    };
    await Promise.all(Array.from({ length: Math.max(1, this.#parts.workers) }, worker));
  }

  async #check(container: WritingContainer): Promise<void> {
    const { files, policy, world, intervalMs } = this.#parts;
    const { id, logPath } = container;
    const before = this.#watched.get(id);
    const nowMs = world.clock.monotonicMs();
    const watched: Watched = { sizeBytes: before?.sizeBytes ?? 0, atMs: nowMs, dueAtMs: nowMs + intervalMs };
    this.#watched.set(id, watched);
    try {
      const info = (await files.lstat(logPath)) ?? (await this.#recreated(container));
      if (info === undefined) return;
      if (info.type !== 'file') return this.#complain(id, logPath, `is a ${info.type} and not a log; left alone`);
      watched.sizeBytes = info.sizeBytes;
      if (info.sizeBytes >= policy.maxSizeBytes) {
        await this.#rotate(container);
        watched.sizeBytes = 0;
      }
      const elapsedMs = nowMs - (before?.atMs ?? nowMs - intervalMs);
      const grownBytes = Math.max(0, info.sizeBytes - (before?.sizeBytes ?? 0));
      watched.dueAtMs =
        nowMs +
        computeNextCheckMs({ sizeBytes: watched.sizeBytes, grownBytes, elapsedMs }, policy, intervalMs, LEAST_MS);
      this.#complained.delete(id);
    } catch (error) {
      this.#complain(id, logPath, errorMessage(error));
    }
  }

  /** Lets the runtime open a new file if the log file was removed, because it keeps writing to the unlinked one. */
  async #recreated({ id, logPath }: WritingContainer) {
    await this.#parts.runtime.reopenContainerLog(id);
    return this.#parts.files.lstat(logPath);
  }

  async #rotate({ id, logPath }: WritingContainer): Promise<void> {
    const { files, policy, world } = this.#parts;
    const directory = path.dirname(logPath);
    const attempt = parseLogFileName(path.basename(logPath))?.attempt;
    if (attempt === undefined) return this.#complain(id, logPath, 'does not have the name of a log; left alone');
    if (!(await isLogFolder(files, directory)))
      return this.#complain(id, logPath, 'does not lie in a folder of the pod; left alone');
    const plan = planRotation(await files.list(directory), attempt, policy, world.clock.nowMs());
    for (const name of plan.remove) await files.remove(`${directory}/${name}`);
    const rotated = `${directory}/${plan.rotateTo}`;
    await files.rename(logPath, rotated);
    try {
      await this.#parts.runtime.reopenContainerLog(id);
    } catch (error) {
      await this.#takeBack(id, rotated, logPath);
      throw error;
    }
    world.log.debug(4, 'rotated a log', { containerId: id, path: rotated });
    for (const name of plan.compress) await this.#compress(`${directory}/${name}`);
    await this.#keepBudget(directory, attempt);
  }

  async #takeBack(id: ContainerId, rotated: string, logPath: string): Promise<void> {
    const { files, world } = this.#parts;
    try {
      // The call may have failed after it took effect. Then the new log has lines, which a rename would destroy.
      if ((await files.lstat(logPath)) === undefined) await files.rename(rotated, logPath);
    } catch (error) {
      world.log.error('could not undo the rename of a log', {
        containerId: id,
        path: rotated,
        error: errorMessage(error),
      });
    }
  }

  /** Compresses a file. It is written under a temporary name first, so that a .gz file is always complete. */
  async #compress(file: string): Promise<void> {
    const { files } = this.#parts;
    try {
      await files.gzip(file, `${file}.tmp`);
      await files.rename(`${file}.tmp`, `${file}.gz`);
      await files.remove(file);
    } catch (error) {
      await files.remove(`${file}.tmp`);
      // NotFound means that the file was removed with its pod. Other errors are only logged, because the log is intact.
      if (!isKind(error, 'NotFound'))
        this.#parts.world.log.warn('could not compress a rotated log', { path: file, error: errorMessage(error) });
    }
  }

  async #keepBudget(directory: string, attempt: number): Promise<void> {
    const { files, policy } = this.#parts;
    const names = await files.list(directory);
    if (names.every((name) => (parseLogFileName(name)?.attempt ?? attempt) === attempt)) return;
    const sizes = await Promise.all(
      names.map(async (name) => ({ name, sizeBytes: (await files.lstat(`${directory}/${name}`))?.sizeBytes ?? 0 })),
    );
    for (const name of selectOverBudget(sizes, attempt, policy)) await files.remove(`${directory}/${name}`);
  }

  /** Logs a problem once per container and cause, and not at every pass. */
  #complain(id: ContainerId, logPath: string, problem: string): void {
    if (this.#complained.get(id) === problem) return;
    this.#complained.set(id, problem);
    this.#parts.world.log.error('could not rotate the log of a container', {
      containerId: id,
      path: logPath,
      error: problem,
    });
  }
}
