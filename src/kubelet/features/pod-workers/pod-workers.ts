import type { BackoffCurve } from '../../../base/backoff.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import type { Clock } from '../../../base/clock.ts';
import { errorMessage, isKind } from '../../../base/errors.ts';
import { KeyedWorkers } from '../../../base/keyed-workers.ts';
import type { LogFields, Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import { jitter } from '../../../base/random.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isStaticPod } from '../../../api/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { Termination, TerminatingSubject, WorkerEvent, WorkerState } from './worker-state.ts';
import { isForgotten, leavesNothing, mustInterrupt, nextWorkerState } from './worker-state.ts';
import { WorkQueue } from './work-queue.ts';
import type { WorkerStates } from './worker-states.ts';

/** The result of one sync of a running pod. */
export interface SyncResult {
  /** Whether the pod's phase is terminal, so that the pod is stopped permanently. */
  readonly terminal: boolean;
  /** The time after which to sync again without an event. The default is the resync interval. */
  readonly retryInMs?: number;
  /**
   * Whether a step failed without a known retry time. The pod is then synced after a back-off that grows with each such
   * sync.
   */
  readonly failed?: boolean;
}

/**
 * Does the slow work of each phase. Every call may be aborted through its signal; an aborted call is repeated with the
 * newer state.
 */
export interface PodSyncer {
  syncPod(work: { pod: Pod; firstSeenMs: number; signal: AbortSignal }): Promise<SyncResult>;
  /** Stops the pod. Resolves only when nothing of the pod runs any more. */
  syncTerminatingPod(work: {
    subject: TerminatingSubject;
    termination: Termination;
    signal: AbortSignal;
  }): Promise<void>;
  /**
   * Cleans up after the pod. Resolves when volumes and cgroups are removed; with `all`, when nothing is left in the
   * runtime either.
   */
  syncTerminatedPod(work: { pod: Pod; all: boolean; signal: AbortSignal }): Promise<void>;
  /**
   * Called when the pod is finished. With `gone`, all its state must be dropped at once, because a new pod of the same
   * UID may follow. With `revived`, such a pod does follow.
   */
  finished(work: { uid: PodUid; pod: Pod | undefined; gone: boolean; revived: boolean }): void;
}

export interface PodWorkersOptions {
  /** The states of the workers. Only this class changes them. */
  readonly states: WorkerStates;
  readonly syncer: PodSyncer;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** The time after which a healthy pod is synced again (upstream: syncFrequency, 1 min), stretched by up to half. */
  readonly resyncMs: number;
  /** Called when a scheduled sync is due; the sync loop answers with `sync`. */
  readonly onDue: (uids: readonly PodUid[]) => void;
}

interface Worker {
  state: WorkerState;
  /** The wall time at which the current phase began. */
  readonly sinceMs: number;
  readonly firstSeenMs: number;
  running: AbortController | undefined;
  /** The monotonic time at which the running sync began. */
  passBeganMs: number | undefined;
  failures: number;
  lastError: string | undefined;
}

/**
 * The back-off after a failed sync. It is shorter than upstream's fixed 10 s, because the cause is often short-lived.
 */
const failureBackoff: BackoffCurve = { initialMs: 500, maxMs: 10_000, factor: 2 };
const JITTER_FACTOR = 0.5;

/**
 * One worker with its own queue per pod.
 * 1. At most one sync runs per pod; what arrives meanwhile is merged, and the next sync sees the newest state.
 * 2. A sync that became pointless (the pod began to end, or its grace period shrank) is aborted at once.
 * 3. Terminating follows syncing, terminated follows terminating, each without waiting for a timer.
 * 4. Two static pods with one full name never run concurrently: the later one queues until the earlier is finished.
 * 5. After `stop` nothing is started, and running syncs are aborted; the pods keep running.
 */
export class PodWorkers {
  readonly #options: PodWorkersOptions;
  readonly #workers = new Map<PodUid, Worker>();
  readonly #nameQueues = new Map<string, PodUid[]>();
  readonly #queues: KeyedWorkers<PodUid, undefined>;
  readonly #queue: WorkQueue;
  #stopped = false;

  constructor(options: PodWorkersOptions) {
    this.#options = options;
    this.#queue = new WorkQueue(options.clock, options.onDue);
    this.#queues = new KeyedWorkers({
      run: (uid) => this.#pass(uid),
      fold: () => undefined,
      onError: (uid, error) => options.log.error('pod worker failed', { podUid: uid, error: errorMessage(error) }),
    });
  }

  /** Handles a new or changed pod. */
  update(pod: Pod, isNew: boolean): void {
    const uid = podUid(pod.metadata.uid ?? '');
    const mustQueue = !this.#workers.has(uid) && isStaticPod(pod) && this.#enqueueName(uid, fullName(pod.metadata));
    this.#apply(uid, { kind: 'update', pod, isNew, mustQueue });
  }

  /** Stops the pod. It was `removed` from its source, or `evicted` by the agent with its own grace period. */
  kill(uid: PodUid, kill: { cause: 'removed' | 'evicted'; graceMs?: number }): void {
    this.#apply(uid, { kind: 'kill', ...kill });
  }

  /** Stops a running pod without a spec. Does nothing for pods that have a worker. */
  killOrphan(runtime: PodRuntimeStatus, graceMs: number): void {
    if (this.#workers.has(runtime.uid)) return;
    this.#enqueueName(runtime.uid, fullName(runtime));
    this.#apply(runtime.uid, { kind: 'orphan', runtime, graceMs });
  }

  /** Stops a finished pod again, because one of its containers runs after all. Does nothing for any other pod. */
  endAgain(uid: PodUid): void {
    if (this.#workers.get(uid)?.state.phase === 'finished') this.#apply(uid, { kind: 'cameLate' });
  }

  /** Syncs the pod as soon as its worker is free, because something about it may have changed. */
  sync(uid: PodUid): void {
    const worker = this.#workers.get(uid);
    if (worker !== undefined && worker.state.phase !== 'queued' && worker.state.phase !== 'finished') this.#submit(uid);
  }

  stateOf(uid: PodUid): WorkerState | undefined {
    return this.#options.states.get(uid);
  }

  /** Whether a sync of the pod is running or about to run. */
  isBusy(uid: PodUid): boolean {
    return this.#queues.isBusy(uid);
  }

  /** Returns the wall milliseconds at which the worker's current phase began. */
  sinceMs(uid: PodUid): number | undefined {
    return this.#workers.get(uid)?.sinceMs;
  }

  /** Returns why the last sync failed and when the next one is planned, for `explain`. */
  retryOf(uid: PodUid): { lastError: string | undefined; inMs: number | undefined } {
    return { lastError: this.#workers.get(uid)?.lastError, inMs: this.#queue.delayOf(uid) };
  }

  /** Returns the pods whose last sync failed. */
  failing(): PodUid[] {
    return [...this.#workers].filter(([, { lastError }]) => lastError !== undefined).map(([uid]) => uid);
  }

  /** Returns how long the current sync has been running, or undefined if none is. */
  busyForMs(uid: PodUid): number | undefined {
    const beganMs = this.#workers.get(uid)?.passBeganMs;
    return beganMs === undefined ? undefined : this.#options.clock.monotonicMs() - beganMs;
  }

  known(): ReadonlyMap<PodUid, WorkerState> {
    return this.#options.states.known();
  }

  /** Stops the workers: aborts running syncs and starts nothing more. Containers are not touched. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#queue.stop();
    for (const worker of this.#workers.values()) worker.running?.abort();
    await this.#queues.whenIdle();
  }

  #apply(uid: PodUid, event: WorkerEvent): void {
    const worker = this.#workers.get(uid);
    const before = worker?.state;
    const after = nextWorkerState(before, event);
    if (after === undefined) return;
    this.#options.states.set(uid, after);
    if (worker === undefined) {
      const firstSeenMs = this.#options.clock.monotonicMs();
      this.#workers.set(uid, {
        state: after,
        sinceMs: this.#options.clock.nowMs(),
        firstSeenMs,
        running: undefined,
        passBeganMs: undefined,
        failures: 0,
        lastError: undefined,
      });
    } else {
      worker.state = after;
      if (before?.phase !== after.phase)
        Object.assign(worker, { failures: 0, lastError: undefined, sinceMs: this.#options.clock.nowMs() });
      if (mustInterrupt(before, after)) worker.running?.abort();
    }
    if (after.phase === 'finished') this.#finish(uid, after, before?.phase !== 'finished' || isForgotten(after));
    else if (after.phase !== 'queued') this.#submit(uid);
  }

  #submit(uid: PodUid): void {
    if (this.#stopped) return;
    this.#queue.forget(uid);
    this.#queues.submit(uid, undefined);
  }

  async #pass(uid: PodUid): Promise<void> {
    const worker = this.#workers.get(uid);
    if (worker === undefined || this.#stopped) return;
    const abort = new AbortController();
    worker.running = abort;
    worker.passBeganMs = this.#options.clock.monotonicMs();
    try {
      const outcome = await this.#work(worker, abort.signal);
      worker.failures = outcome.failed === true ? worker.failures + 1 : 0;
      worker.lastError = undefined;
      if (outcome.event !== undefined) this.#apply(uid, outcome.event);
      else if (this.#workers.get(uid) === worker && !this.#stopped)
        this.#queue.schedule(uid, this.#pauseMs(worker, outcome));
    } catch (error) {
      this.#failed(uid, worker, { error, aborted: abort.signal.aborted });
    } finally {
      worker.running = undefined;
      worker.passBeganMs = undefined;
    }
  }

  async #work(
    worker: Worker,
    signal: AbortSignal,
  ): Promise<{ event?: WorkerEvent; retryInMs?: number; failed?: boolean }> {
    const { syncer } = this.#options;
    const { state } = worker;
    switch (state.phase) {
      case 'syncing': {
        const result = await syncer.syncPod({ pod: state.pod, firstSeenMs: worker.firstSeenMs, signal });
        return result.terminal ? { event: { kind: 'phaseTerminal' } } : result;
      }
      case 'terminating':
        await syncer.syncTerminatingPod({ subject: state.subject, termination: state.termination, signal });
        return { event: { kind: 'stopped' } };
      case 'terminated': {
        const all = leavesNothing(state);
        await syncer.syncTerminatedPod({ pod: state.pod, all, signal });
        return { event: { kind: 'cleaned', all } };
      }
      case 'queued':
      case 'finished':
        return {};
    }
  }

  #failed(uid: PodUid, worker: Worker, failure: { error: unknown; aborted: boolean }): void {
    if (this.#stopped) return;
    // An aborted sync worked on an outdated state, so its error is ignored.
    if (failure.aborted) return this.#submit(uid);
    worker.failures++;
    worker.lastError = errorMessage(failure.error);
    const delayMs = this.#failurePauseMs(worker);
    const fields: LogFields = {
      podUid: uid,
      phase: worker.state.phase,
      error: worker.lastError,
      retryInMs: Math.round(delayMs),
    };
    const { log } = this.#options;
    // The node changed during the pass, for example by a call that took effect late. The next pass acts on that.
    if (isKind(failure.error, 'Conflict') && worker.failures === 1)
      log.info('the node changed while the pod was synced, will try again', fields);
    else log.error('error syncing pod, will try again', fields);
    this.#queue.schedule(uid, delayMs);
  }

  #finish(uid: PodUid, state: WorkerState & { phase: 'finished' }, isNews: boolean): void {
    if (!isNews) return;
    const { pod, revive } = state;
    const gone = isForgotten(state);
    this.#queue.forget(uid);
    if (gone) {
      this.#workers.delete(uid);
      this.#options.states.delete(uid);
    }
    this.#options.syncer.finished({ uid, pod, gone, revived: revive !== undefined });
    this.#releaseName(uid);
    if (revive !== undefined) this.update(revive, true);
  }

  #pauseMs(worker: Worker, outcome: { retryInMs?: number; failed?: boolean }): number {
    const usualMs =
      outcome.failed === true
        ? this.#failurePauseMs(worker)
        : jitter(this.#options.random, this.#options.resyncMs, JITTER_FACTOR);
    return Math.min(outcome.retryInMs ?? usualMs, usualMs);
  }

  #failurePauseMs(worker: Worker): number {
    return jitter(this.#options.random, backoffDelayMs(failureBackoff, worker.failures), JITTER_FACTOR);
  }

  /** Joins the queue for the pod's full name. Returns whether another pod is ahead of it. */
  #enqueueName(uid: PodUid, name: string): boolean {
    const line = this.#nameQueues.get(name) ?? [];
    if (!line.includes(uid)) line.push(uid);
    this.#nameQueues.set(name, line);
    return line[0] !== uid;
  }

  #releaseName(uid: PodUid): void {
    for (const [name, line] of this.#nameQueues) {
      const place = line.indexOf(uid);
      if (place === -1) continue;
      line.splice(place, 1);
      if (line.length === 0) this.#nameQueues.delete(name);
      const first = line[0];
      if (place === 0 && first !== undefined) this.#apply(first, { kind: 'nameFree' });
      return;
    }
  }
}

function fullName(subject: { name?: string; namespace?: string }): string {
  return `${subject.namespace ?? ''}/${subject.name ?? ''}`;
}
