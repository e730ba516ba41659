import { inBackground } from '../../../base/background.ts';
import type { Clock } from '../../../base/clock.ts';
import { sleep } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isStaticPod } from '../../../api/pod.ts';
import type { PriorityOf } from '../../../api/pod-priority.ts';
import { nodeEvents } from '../../../api/reasons.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { NodeEventRecorder } from '../../ports/recorder.ts';
import { endPods } from './end-pods.ts';
import type { PriorityGrace } from './priority-groups.ts';
import { fitGraces, groupByPriority, killGraceMs, rowOf, totalGraceMs } from './priority-groups.ts';
import type { ShutdownRecord, ShutdownTimes } from './shutdown-record.ts';
import { noShutdown } from './shutdown-record.ts';
import type { ShutdownState } from './shutdown-state.ts';

export interface ShutdownManagerParts {
  /** The times in ascending order of priority; not empty. */
  readonly graces: readonly PriorityGrace[];
  readonly priorityOf: PriorityOf;
  readonly state: ShutdownState;
  readonly record: Pick<ShutdownRecord, 'load' | 'save'>;
  readonly pods: {
    /** Returns the pods that have a place on the node. */
    active(): readonly Pod[];
    byUid(uid: PodUid): Pod | undefined;
    /** Calls `listener` for each pod that has a place now or gets it later. */
    onAdmitted(listener: (pod: Pod) => void): () => void;
  };
  readonly workers: {
    kill(uid: PodUid, kill: { cause: 'evicted'; graceMs: number }): void;
    /** Starts the pod again when it has ended. */
    restart(pod: Pod): void;
    hasFinished(uid: PodUid): boolean;
    onAdvance(listener: (uid: PodUid) => void): () => void;
  };
  /** Resolves when no pod status is being sent to the API server. */
  readonly whenStatusesSent: () => Promise<void>;
  readonly recorder: NodeEventRecorder;
  /** Requests a new status of the node. */
  readonly statusChanged: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** How long the machine waits, after the pods have ended, for the disk and the API server. */
const AFTERMATH_LIMIT_MS = 3000;

/**
 * Ends all pods in order before the machine shuts down. Invariants:
 * 1. There is one shutdown at a time. A second request waits for the first.
 * 2. During a shutdown the node is not ready and accepts no new pod. An agent that is restarted meanwhile ends the pods
 *    that it finds.
 * 3. Groups of pods end from the lowest priority to the highest, within the configured time.
 * 4. A cancelled shutdown ends no more pods. Static pods that it ended start again, because nothing replaces them.
 *    Other pods stay ended.
 */
export class ShutdownManager {
  readonly #parts: ShutdownManagerParts;
  #running: { abort: AbortController; done: Promise<void> } | undefined;
  #times: ShutdownTimes = noShutdown;

  constructor(parts: ShutdownManagerParts) {
    this.#parts = parts;
  }

  async start(): Promise<void> {
    this.#parts.pods.onAdmitted((pod) => this.#admitted(pod));
    this.#times = await this.#parts.record.load();
  }

  /** The times of the current or last shutdown. */
  get times(): ShutdownTimes {
    return this.#times;
  }

  /** The time of all pods together, in milliseconds. */
  get totalMs(): number {
    return totalGraceMs(this.#parts.graces);
  }

  /**
   * Ends all pods, within `availableMs` if the machine grants less time than is configured. Resolves when they have
   * ended or their time is over.
   */
  begin(availableMs = this.totalMs): Promise<void> {
    if (this.#running !== undefined) return this.#running.done;
    const abort = new AbortController();
    const done = this.#run(fitGraces(this.#parts.graces, availableMs), abort.signal);
    this.#running = { abort, done };
    return done;
  }

  /** Cancels the shutdown, because the machine keeps running. */
  cancel(): void {
    const { state, recorder, statusChanged, pods, workers, log } = this.#parts;
    if (this.#running === undefined) return;
    this.#running.abort.abort();
    this.#running = undefined;
    state.isShuttingDown = false;
    log.info('Shutdown manager detected shutdown cancellation');
    recorder.nodeEvent('Normal', nodeEvents.shutdown, 'Shutdown manager detected shutdown cancellation');
    statusChanged();
    for (const uid of state.ended()) {
      const pod = pods.byUid(uid);
      if (pod === undefined || !isStaticPod(pod)) continue;
      state.forget(uid);
      workers.restart(pod);
    }
  }

  /** Aborts a running shutdown without starting pods again, because the agent's process ends. */
  stop(): void {
    this.#running?.abort.abort();
  }

  async #run(graces: readonly PriorityGrace[], signal: AbortSignal): Promise<void> {
    const { state, record, pods, priorityOf, workers, recorder, statusChanged, clock, log } = this.#parts;
    const startMs = clock.nowMs();
    state.isShuttingDown = true;
    this.#times = { startMs, endMs: undefined };
    log.info('Shutdown manager detected shutdown event', { availableMs: totalGraceMs(graces) });
    recorder.nodeEvent('Normal', nodeEvents.shutdown, 'Shutdown manager detected shutdown event');
    statusChanged();
    // The pods do not wait for the disk.
    const saved = record.save(this.#times);
    const groups = groupByPriority(pods.active(), graces, priorityOf);
    const end = (pod: Pod, graceMs: number): void => this.#end(pod, graceMs);
    await endPods({ end, hasFinished: workers.hasFinished, onAdvance: workers.onAdvance, clock, log }, groups, signal);
    if (signal.aborted) return;
    this.#times = { startMs, endMs: clock.nowMs() };
    const settled = saved.then(() => record.save(this.#times));
    await this.#atMost(AFTERMATH_LIMIT_MS, Promise.all([settled, this.#parts.whenStatusesSent()]));
    log.info('Shutdown manager completed processing shutdown event, node will shutdown shortly');
  }

  #end(pod: Pod, graceMs: number): void {
    const { state, workers } = this.#parts;
    const uid = podUid(pod.metadata.uid);
    state.end(uid);
    workers.kill(uid, { cause: 'evicted', graceMs });
  }

  /**
   * Ends a pod that is admitted during a shutdown. It is a pod from before a restart of the agent, because new pods are
   * rejected.
   */
  #admitted(pod: Pod): void {
    const { state, graces, priorityOf, log } = this.#parts;
    const row = state.isShuttingDown ? rowOf(pod, graces, priorityOf) : undefined;
    if (row === undefined) return;
    state.end(podUid(pod.metadata.uid));
    // The worker of the pod is created immediately after this call.
    inBackground(
      log,
      'stopping a pod that was found during a shutdown',
      Promise.resolve().then(() => this.#end(pod, killGraceMs(pod, row))),
    );
  }

  async #atMost(limitMs: number, work: Promise<unknown>): Promise<void> {
    const stop = new AbortController();
    const limit = sleep(this.#parts.clock, limitMs, stop.signal).catch(() => undefined);
    await Promise.race([work.catch(() => undefined), limit]);
    stop.abort();
  }
}
