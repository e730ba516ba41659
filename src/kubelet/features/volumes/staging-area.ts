import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import type { StagedVolume, VolumeStaging } from '../../ports/volume-plugin.ts';
import { operationBackoff } from './volume-state.ts';

interface Stage {
  readonly staging: VolumeStaging;
  readonly users: Set<PodUid>;
  /** Whether it must be attached to the node. This is unknown for a volume found on disk. */
  isAttachable: boolean | undefined;
  /** Whether it was found on disk and not staged by this agent. */
  wasFound: boolean;
  /** The volume that is known to be staged, by this agent or from disk. */
  staged: StagedVolume | undefined;
  /** Whether this agent staged it, so that it need not be staged again. */
  fresh: boolean;
  /** Resolves when all requested operations have ended. It never rejects. */
  queue: Promise<void>;
  failures: number;
  timer: Timer | undefined;
}

/**
 * Manages the volumes that are prepared once per node, with the pods that use them.
 * 1. One call at a time runs per key; different keys never wait for each other.
 * 2. A key with a user is never unstaged. One whose last user is gone is unstaged, with back-off until it succeeds.
 * 3. Volumes found on disk at the start count as used by the pods found with them, and are unstaged only after
 *    `collect`.
 */
export class StagingArea {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #stages = new Map<string, Stage>();
  readonly #onInUseChanged: () => void;
  #inUse = '';
  #stopped = false;

  constructor(options: { clock: Clock; log: Logger; onInUseChanged?: (() => void) | undefined }) {
    this.#clock = options.clock;
    this.#log = options.log;
    this.#onInUseChanged = options.onInUseChanged ?? ((): void => undefined);
  }

  /** Returns the unique names of volumes that are attached and used, or not released yet (upstream: volumesInUse). */
  keysInUse(): string[] {
    return [...this.#stages]
      .filter(([, stage]) => isInUse(stage))
      .map(([key]) => key)
      .sort();
  }

  /** Records a volume found on disk, with or without a pod that uses it. */
  found(staging: VolumeStaging, staged: StagedVolume, uid?: PodUid): void {
    const stage = this.#stage(staging, staged.key);
    stage.staged ??= staged;
    stage.wasFound = true;
    if (uid !== undefined) stage.users.add(uid);
  }

  /** Stages the volume unless it is staged, for a pod that keeps it until `release`. */
  async acquire(
    staging: VolumeStaging,
    user: { planned: StagedVolume; uid: PodUid; isAttachable: boolean },
    make: (wasFound: boolean) => Promise<StagedVolume>,
  ): Promise<StagedVolume> {
    const stage = this.#stage(staging, user.planned.key);
    stage.users.add(user.uid);
    stage.isAttachable = user.isAttachable;
    this.#notifyInUse();
    stage.timer?.cancel();
    stage.timer = undefined;
    return this.#inLane(stage, async () => {
      if (stage.fresh && stage.staged !== undefined) return stage.staged;
      // If staging fails half-way or never returns, this must be undone.
      stage.staged ??= user.planned;
      stage.staged = await make(stage.wasFound);
      stage.fresh = true;
      stage.failures = 0;
      return stage.staged;
    });
  }

  /** Records that the pod uses no volume any more. */
  release(uid: PodUid): void {
    for (const [key, stage] of this.#stages)
      if (stage.users.delete(uid) && stage.users.size === 0) this.#unstage(key, stage);
  }

  /** Unstages volumes that no pod uses. It is called when all pods are known. */
  collect(): void {
    for (const [key, stage] of this.#stages)
      if (stage.users.size === 0 && stage.timer === undefined && stage.failures === 0) this.#unstage(key, stage);
  }

  /** Makes pending unstage operations skip their back-off. */
  retryNow(): void {
    for (const [key, stage] of this.#stages) if (stage.timer !== undefined) this.#unstage(key, stage);
  }

  stop(): void {
    this.#stopped = true;
    for (const { timer } of this.#stages.values()) timer?.cancel();
  }

  #notifyInUse(): void {
    const now = this.keysInUse().join('\n');
    if (now === this.#inUse) return;
    this.#inUse = now;
    this.#onInUseChanged();
  }

  #stage(staging: VolumeStaging, key: string): Stage {
    const known = this.#stages.get(key);
    if (known !== undefined) return known;
    const stage: Stage = {
      staging,
      users: new Set(),
      isAttachable: undefined,
      wasFound: false,
      staged: undefined,
      fresh: false,
      queue: Promise.resolve(),
      failures: 0,
      timer: undefined,
    };
    this.#stages.set(key, stage);
    return stage;
  }

  #inLane<T>(stage: Stage, work: () => Promise<T>): Promise<T> {
    const result = stage.queue.then(work);
    stage.queue = result.then(
      () => undefined,
      () => undefined,
    );
    return result;
  }

  #unstage(key: string, stage: Stage): void {
    stage.timer?.cancel();
    stage.timer = undefined;
    void this.#inLane(stage, async () => {
      if (stage.users.size > 0 || this.#stopped || this.#stages.get(key) !== stage) return;
      try {
        if (stage.staged !== undefined) await stage.staging.unstage(stage.staged);
        stage.fresh = false;
        stage.staged = undefined;
        stage.wasFound = false;
        if (stage.users.size === 0) this.#stages.delete(key);
        this.#notifyInUse();
      } catch (error) {
        stage.failures += 1;
        stage.fresh = false;
        this.#log.warn('a volume that no pod uses any more cannot be released from the node yet', {
          volume: key,
          error: errorMessage(error),
        });
        if (stage.users.size === 0 && !this.#stopped)
          stage.timer = this.#clock.setTimer(backoffDelayMs(operationBackoff, stage.failures), () =>
            this.#unstage(key, stage),
          );
      }
    });
  }
}

/** Whether the volume counts as in use. It must not be detached from the node before the node has released it. */
function isInUse({ isAttachable, staging, users, staged }: Stage): boolean {
  return (isAttachable ?? staging.attaches !== undefined) && (users.size > 0 || staged !== undefined);
}
