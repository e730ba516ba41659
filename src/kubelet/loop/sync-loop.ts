import type { Clock } from '../../base/clock.ts';
import { errorMessage, unreachable } from '../../base/errors.ts';
import { createLoop, type Loop } from '../../base/loop.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { PodUid } from '../model/ids.ts';
import type { PodLifecycleEvent } from '../model/pod-lifecycle-event.ts';
import type { ProbeType, ProbeVerdict } from '../model/probe-result.ts';
import type { PodUpdate } from '../model/pod-update.ts';

/** The five things the loop reacts to. */
export type SyncInput =
  | { kind: 'configuration'; update: PodUpdate }
  | { kind: 'pleg'; event: PodLifecycleEvent }
  | { kind: 'sync'; uids: readonly PodUid[] }
  | { kind: 'probe'; podUid: PodUid; type: ProbeType; verdict: ProbeVerdict }
  | { kind: 'housekeeping' };

/** What to do about each input. Every handler only hands work on; none may wait. */
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
  handlers: SyncHandlers;
  clock: Clock;
  random: Random;
  log: Logger;
  /** Errors of the runtime or the node while which no pod may be synced; empty when all is well. */
  runtimeErrors: () => readonly string[];
  /** Safety net for clean-up; clean-up is also asked for by events. */
  housekeepingMs: number;
}

/** Upstream calls the loop unhealthy when it has not turned for two resync periods. */
const UNHEALTHY_AFTER_MS = 120_000;

/**
 * The agent's main loop: takes inputs in the order they come and hands each to its handler.
 * 1. It never waits: handlers only dispatch to pod workers, which do the slow work each in their own lane.
 * 2. While the runtime has errors, inputs are kept (none is lost) and taken up in order as soon as `wake` says that it is back.
 * 3. Clean-up comes after everything else that waits: what it takes for unwanted may be wanted by an input behind it.
 * 4. A handler that throws is reported and does not stop the loop.
 */
export class SyncLoop {
  readonly #options: SyncLoopOptions;
  readonly #inputs: SyncInput[] = [];
  #cleanupWaits = false;
  readonly #housekeeping: Loop;
  #draining = false;
  #started = false;
  /** Wall time since which inputs are kept back. */
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
      pass: () => this.post({ kind: 'housekeeping' }),
    });
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

  post(input: SyncInput): void {
    if (input.kind === 'housekeeping') this.#cleanupWaits = true;
    else this.#inputs.push(input);
    this.wake();
  }

  /** Takes up what waits. Call it when the runtime has come back. */
  wake(): void {
    if (this.#draining || !this.#started) return;
    const errors = this.#options.runtimeErrors();
    if (errors.length > 0) return this.#holdBack(errors);
    if (this.#heldBackSinceMs !== undefined)
      this.#options.log.info('syncing pods again: the runtime is back', { waiting: this.#inputs.length });
    this.#heldBackSinceMs = undefined;
    this.#draining = true;
    try {
      for (let input = this.#next(); input !== undefined; input = this.#next()) this.#handle(input);
    } finally {
      this.#draining = false;
      this.#lastTurnMs = this.#options.clock.monotonicMs();
    }
  }

  /** Why inputs are kept back now, and since when (wall ms); undefined when they are not. */
  heldBack(): { sinceMs: number; errors: readonly string[] } | undefined {
    return this.#heldBackSinceMs === undefined
      ? undefined
      : { sinceMs: this.#heldBackSinceMs, errors: this.#options.runtimeErrors() };
  }

  /** Pods among the inputs kept back, as their sources want them last: nobody else knows those that are new. */
  waitingPods(): Pod[] {
    const pods = new Map<string, Pod>();
    for (const input of this.#inputs) {
      if (input.kind !== 'configuration') continue;
      for (const pod of input.update.pods) {
        if (input.update.op === 'REMOVE') pods.delete(pod.metadata.uid);
        else pods.set(pod.metadata.uid, pod);
      }
    }
    return [...pods.values()];
  }

  /** Whether a source has said something of its pods that nobody has been told yet: what looks unwanted may be wanted. */
  configurationWaits(): boolean {
    return this.#inputs.some((input) => input.kind === 'configuration');
  }

  /** For the `syncloop` health check: whether the loop has turned recently. */
  health(): { ok: boolean; reason: string } {
    const agoMs = this.#options.clock.monotonicMs() - this.#lastTurnMs;
    if (agoMs <= UNHEALTHY_AFTER_MS) return { ok: true, reason: '' };
    return {
      ok: false,
      reason: `sync loop took longer than expected: last turn ${Math.round(agoMs / 1000)} s ago, ${this.#inputs.length} inputs waiting`,
    };
  }

  #holdBack(errors: readonly string[]): void {
    if (this.#heldBackSinceMs !== undefined) return;
    this.#heldBackSinceMs = this.#options.clock.nowMs();
    this.#options.log.warn('skipping pod synchronization', { errors: errors.join('; ') });
  }

  #next(): SyncInput | undefined {
    const input = this.#inputs.shift();
    if (input !== undefined || !this.#cleanupWaits) return input;
    this.#cleanupWaits = false;
    return { kind: 'housekeeping' };
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
