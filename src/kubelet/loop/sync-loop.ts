import type { Clock } from '../../base/clock.ts';
import { errorMessage, unreachable } from '../../base/errors.ts';
import type { Loop } from '../../base/loop.ts';
import { createLoop } from '../../base/loop.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { PodUid } from '../model/ids.ts';
import type { PodLifecycleEvent } from '../model/pod-lifecycle-event.ts';
import type { ProbeType, ProbeVerdict } from '../model/probe-result.ts';
import type { PodUpdate } from '../model/pod-update.ts';
import type { SyncInput, SyncQueue } from './sync-queue.ts';

/** The handlers of the inputs. Handlers only pass work on; they must not block. */
export interface SyncHandlers {
  podAdditions(update: PodUpdate): void;
  podUpdates(update: PodUpdate): void;
  podRemoves(update: PodUpdate): void;
  podReconcile(update: PodUpdate): void;
  podSyncs(uids: readonly PodUid[]): void;
  lifecycleEvent(event: PodLifecycleEvent): void;
  probeUpdate(update: { podUid: PodUid; type: ProbeType; verdict: ProbeVerdict }): void;
  podCleanups(): void;
}

export interface SyncLoopOptions {
  readonly queue: SyncQueue;
  readonly handlers: SyncHandlers;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Returns errors of the runtime or the node that keep all pods from being synced, or an empty list. */
  readonly runtimeErrors: () => readonly string[];
  /** The period of the clean-up, which events also request. */
  readonly housekeepingMs: number;
}

/** The time without an iteration after which the loop is unhealthy: two resync periods, as in upstream. */
const UNHEALTHY_AFTER_MS = 120_000;

/**
 * The agent's main loop: drains the queue of inputs and passes each to its handler.
 * 1. It never waits: handlers only dispatch to pod workers, which do the slow work in per-pod queues.
 * 2. While the runtime has errors, inputs are kept (none is lost) and handled in order as soon as `wake` is called.
 * 3. A handler that throws is logged and does not stop the loop.
 */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #housekeeping: Loop;
  #draining = false;
  #started = false;
  /** The wall time since which inputs are held back. */
  #heldBackSinceMs: number | undefined;
  #lastTurnMs: number;

  constructor(options: SyncLoopOptions) {
    this.#options = options;
    this.#lastTurnMs = options.clock.monotonicMs();
    this.#housekeeping = createLoop({
      name: 'housekeeping',
      clock: options.clock,
      random: options.random,
      log: options.log,
      periodMs: options.housekeepingMs,
      pass: () => options.queue.post({ kind: 'housekeeping' }),
    });
    options.queue.onPost(() => this.wake());
  }

  start(): void {
    this.#started = true;
    this.#housekeeping.start();
    this.wake();
  }

  async stop(): Promise<void> {
    this.#started = false;
    await this.#housekeeping.stop();
  }

  /** Handles the waiting inputs. Call it when the runtime is back. */
  wake(): void {
    if (this.#draining || !this.#started) return;
    const { queue } = this.#options;
    const errors = this.#options.runtimeErrors();
    if (errors.length > 0) return this.#holdBack(errors);
    if (this.#heldBackSinceMs !== undefined)
      this.#options.log.info('syncing pods again: the runtime is back', { waiting: queue.size });
    this.#heldBackSinceMs = undefined;
    this.#draining = true;
    try {
      for (let input = queue.next(); input !== undefined; input = queue.next()) this.#handle(input);
    } finally {
      this.#draining = false;
      this.#lastTurnMs = this.#options.clock.monotonicMs();
    }
  }

  /** Returns why inputs are held back and since when (wall ms), or undefined when they are not. */
  heldBack(): { sinceMs: number; errors: readonly string[] } | undefined {
    return this.#heldBackSinceMs === undefined
      ? undefined
      : { sinceMs: this.#heldBackSinceMs, errors: this.#options.runtimeErrors() };
  }

  /** Returns the problem for the `syncloop` health check, or undefined when the loop runs. */
  problem(): string | undefined {
    const agoMs = this.#options.clock.monotonicMs() - this.#lastTurnMs;
    return agoMs <= UNHEALTHY_AFTER_MS
      ? undefined
      : `sync loop took longer than expected: last turn ${Math.round(agoMs / 1000)} s ago, ${this.#options.queue.size} inputs waiting`;
  }

  #holdBack(errors: readonly string[]): void {
    if (this.#heldBackSinceMs !== undefined) return;
    this.#heldBackSinceMs = this.#options.clock.nowMs();
    this.#options.log.warn('skipping pod synchronization', { errors: errors.join('; ') });
  }

  #handle(input: SyncInput): void {
    try {
      this.#dispatch(input);
    } catch (error) {
      this.#options.log.error('sync loop input failed', { input: input.kind, error: errorMessage(error) });
    }
  }

  #dispatch(input: SyncInput): void {
    const { handlers } = this.#options;
    switch (input.kind) {
      case 'configuration':
        return this.#configuration(input.update);
      case 'pleg':
        return handlers.lifecycleEvent(input.event);
      case 'sync':
        return handlers.podSyncs(input.uids);
      case 'probe':
        return handlers.probeUpdate(input);
      case 'housekeeping':
        return handlers.podCleanups();
      default:
        return unreachable(input);
    }
  }

  #configuration(update: PodUpdate): void {
    const { handlers } = this.#options;
    switch (update.op) {
      case 'ADD':
        return handlers.podAdditions(update);
      // A pod marked for deletion is an update until its containers are gone.
      case 'UPDATE':
      case 'DELETE':
        return handlers.podUpdates(update);
      case 'REMOVE':
        return handlers.podRemoves(update);
      case 'RECONCILE':
        return handlers.podReconcile(update);
      default:
        return unreachable(update.op);
    }
  }
}
