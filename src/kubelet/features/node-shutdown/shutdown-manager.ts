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
  /** In ascending order of priority; not empty. */
  readonly graces: readonly PriorityGrace[];
  readonly priorityOf: PriorityOf;
  readonly state: ShutdownState;
  readonly record: Pick<ShutdownRecord, 'load' | 'save'>;
  readonly pods: {
    /** The pods that have a place on the node. */
    active(): readonly Pod[];
    byUid(uid: PodUid): Pod | undefined;
    /** Calls `listener` for each pod that gets, or has, a place. */
    onAdmitted(listener: (pod: Pod) => void): () => void;
  };
  readonly workers: {
    kill(uid: PodUid, kill: { cause: 'evicted'; graceMs: number }): void;
    /** Starts the pod again once it has ended. */
    restart(pod: Pod): void;
    hasFinished(uid: PodUid): boolean;
    onAdvance(listener: (uid: PodUid) => void): () => void;
  };
  /** Resolves when no status of a pod is on its way to the API server. */
  readonly whenStatusesSent: () => Promise<void>;
  readonly recorder: NodeEventRecorder;
  /** The status of the node changed. */
  readonly statusChanged: () => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** After the pods have ended: how long the machine waits for the disk and the API server. */
const AFTERMATH_LIMIT_MS = 3000;

/**
 * Ends all pods in order before the machine goes down.
 * 1. One shutdown at a time: a second request waits for the first.
 * 2. From the beginning of a shutdown the node is not ready and takes no new pod; pods of an agent that was restarted
 *    meanwhile end as they are found.
 * 3. Groups of pods end from the lowest priority to the highest, within the configured time.
 * 4. A shutdown that is cancelled ends no more pods. Static pods that it ended start again, because nothing replaces
 *    them; other pods stay ended.
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

  /** When the present or the last shutdown began and ended. */
  get times(): ShutdownTimes {
    return this.#times;
  }

  /** How long all pods may take, in milliseconds. */
  get totalMs(): number {
    return totalGraceMs(this.#parts.graces);
  }

  /**
   * Ends all pods, within `availableMs` where the machine gives less time than is configured. Resolves when they have
   * ended or their time is over.
   */
  begin(availableMs = this.totalMs): Promise<void> {
    if (this.#running !== undefined) return this.#running.done;
    const abort = new AbortController();
    const done = this.#run(fitGraces(this.#parts.graces, availableMs), abort.signal);
    this.#running = { abort, done };
    return done;
  }

  /** The machine stays up. */
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

  /** Aborts a running shutdown without starting anything again: the agent's process ends. */
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

  /** During a shutdown only pods from before a restart of the agent get here; new pods are rejected. */
  #admitted(pod: Pod): void {
    const { state, graces, priorityOf, log } = this.#parts;
    const row = state.isShuttingDown ? rowOf(pod, graces, priorityOf) : undefined;
    if (row === undefined) return;
    state.end(podUid(pod.metadata.uid));
    // Its worker is made right after this.
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
