import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { Container } from '../../../api/core/container.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { Probe } from '../../../api/core/probe.ts';
import { containerEvents } from '../../../api/reasons.ts';
import type { ContainerId, PodUid } from '../../model/ids.ts';
import type { ProbeType } from '../../model/probe-result.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { LagWatch } from './lag-watch.ts';
import type { LoadMark, OverloadWatch } from './overload-watch.ts';
import type { Appointment, ProbeSchedule } from './probe-schedule.ts';
import type { ProbeState, Thresholds } from './probe-state.ts';
import { nextProbeState, thresholdsOf } from './probe-state.ts';
import type { ProbeOutcome, ProbeTools } from './run-probe.ts';
import { runProbe } from './run-probe.ts';

/**
 * Regular probes begin at multiples of this time, so that the probes of many containers share turns of the event loop.
 * With a thousand a second that saves a quarter of their cost. A probe is delayed to the next multiple, so it never
 * runs more often than its period.
 */
const GRID_MS = 25;
/**
 * The pause between the first readiness or startup probes of a new container. It is doubled each time until it reaches
 * the period.
 */
const EAGER_MS = 25;
/** The same for a command, which costs a process. */
const EAGER_EXEC_MS = 100;
/** An adopted container without a saved result is probed within this time, because its readiness is only assumed. */
const ASSUMED_JITTER_MS = 1_000;
/** If the agent was late by this time, or by this share of the deadline, a missed deadline is inconclusive. */
const LATE_MS = 50;
const LATE_SHARE = 0.1;
/**
 * How many probes in a row are repeated immediately, instead of at the next tick, if the agent's lateness made them
 * inconclusive.
 */
const INSTANT_REPEATS = 3;
/**
 * How long an overloaded node may make every probe of a container inconclusive. Afterwards missed deadlines count
 * again, because the container may be in an endless loop that causes the load, and only a restart would end it. A
 * container that passes sometimes never reaches this limit. Upstream's node tests allow four minutes for a container
 * that never passes.
 */
const OVERLOAD_PATIENCE_MS = 150_000;

/** The container in the latest status of the runtime. */
export interface SeenContainer {
  readonly id: ContainerId;
  readonly running: boolean;
  /** Wall-clock milliseconds. */
  readonly startedAtMs: number;
  readonly podIp: string;
}

/** The measurements of one probe, in milliseconds. */
export interface ProbeFacts {
  readonly durationMs: number;
  /** How late the probe began. */
  readonly lateMs: number;
  /** How late the agent's event loop was during the probe. */
  readonly lagMs: number;
}

/** The parts that all workers share. */
export interface WorkerContext {
  readonly clock: Clock;
  readonly random: Random;
  readonly schedule: ProbeSchedule;
  readonly lag: LagWatch;
  readonly overload: OverloadWatch;
  readonly tools: ProbeTools;
  readonly recorder: EventRecorder;
  /** Whether the container has passed its startup probe, if it has one. */
  readonly hasStarted: (worker: ProbeWorker) => boolean;
  /** Called when the state of the probe changed. Its result may have changed too. */
  readonly onState: (worker: ProbeWorker, before: ProbeState | undefined, after: ProbeState) => void;
  readonly onOutcome: (worker: ProbeWorker, outcome: ProbeOutcome['kind'] | 'inconclusive', facts: ProbeFacts) => void;
}

/** The cause of an inconclusive probe: the agent or the node was late. */
type DelayCause = 'agent' | 'node';

const titles = { liveness: 'Liveness', readiness: 'Readiness', startup: 'Startup' } as const;

/**
 * Runs one probe of one container (upstream: prober/worker.go). Invariants:
 * 1. At most one probe runs at a time. The outcome for an earlier container is dropped.
 * 2. The next probe is scheduled, or one is running, exactly while the worker may probe: the container is running, has
 *    started (or this is the startup probe), and the probe is not on hold.
 * 3. Ticks are one period apart. Between them, a new container that is not ready yet is probed eagerly. A failure of
 *    such a probe does not count and is not reported.
 */
export class ProbeWorker {
  readonly podUid: PodUid;
  readonly type: ProbeType;
  readonly container: Container;
  readonly #context: WorkerContext;
  readonly #probe: Probe;
  readonly #thresholds: Thresholds;
  #pod: Pod;
  #state: ProbeState | undefined;
  #podIp = '';
  /** The monotonic time when the container started; undefined while it does not run. */
  #runningSinceMs: number | undefined;
  #adopted = false;
  #appointment: Appointment | undefined;
  /** Aborts the running probe. It is used for many probes, and replaced only after an abort. */
  #aborter = new AbortController();
  #underWay = false;
  /** Counts aborts. An outcome of a probe that began before the last abort is dropped. */
  #era = 0;
  #tickDueMs = 0;
  #eagerMs = 0;
  #repeats = 0;
  /** The monotonic time since when every probe was inconclusive. */
  #inconclusiveSinceMs: number | undefined;
  /** The container that passed its startup probe. That result is final. */
  #startedId: ContainerId | undefined;
  #stopped = false;
  #failure: { output: string; atMs: number } | undefined;
  #nextTryMs: number | undefined;

  constructor(
    context: WorkerContext,
    target: { pod: Pod; podUid: PodUid; type: ProbeType; container: Container; probe: Probe },
  ) {
    this.#context = context;
    this.podUid = target.podUid;
    this.type = target.type;
    this.container = target.container;
    this.#pod = target.pod;
    this.#probe = target.probe;
    this.#thresholds = thresholdsOf(target.probe);
  }

  get state(): ProbeState | undefined {
    return this.#state;
  }

  /**
   * Returns why the container has not passed, for `explain`: the last failed probe, eager ones included, and when the
   * next is due. Times are wall-clock milliseconds.
   */
  report(): { lastOutput?: string; lastAtMs?: number; nextTryAtMs?: number } {
    const { clock } = this.#context;
    const nextTryAtMs =
      this.#appointment === undefined || this.#nextTryMs === undefined
        ? undefined
        : Math.round(clock.nowMs() + this.#nextTryMs - clock.monotonicMs());
    return { lastOutput: this.#failure?.output, lastAtMs: this.#failure?.atMs, nextTryAtMs };
  }

  get pod(): Pod {
    return this.#pod;
  }

  setPod(pod: Pod): void {
    this.#pod = pod;
  }

  /** Updates the container's state. If it is another container than before, `begin` returns the initial probe state. */
  observe(seen: SeenContainer, begin: () => { state: ProbeState; adopted: boolean }): void {
    if (this.#stopped) return;
    this.#podIp = seen.podIp;
    if (this.#state?.id !== seen.id) {
      this.#rest();
      this.#runningSinceMs = undefined;
      this.#failure = undefined;
      const { state, adopted } = begin();
      this.#adopted = adopted;
      this.#setState(state);
    }
    if (!seen.running) return this.#notRunning();
    if (this.#runningSinceMs !== undefined) return;
    const { clock } = this.#context;
    // The wall clock is used only to determine the age. Later steps of it have no effect.
    this.#runningSinceMs = clock.monotonicMs() - Math.max(0, clock.nowMs() - seen.startedAtMs);
    this.wake();
  }

  /** Starts probing if that is allowed and not yet done: the container runs, or has passed its startup probe. */
  wake(): void {
    if (!this.#mayProbe() || this.#appointment !== undefined || this.#underWay) return;
    const { clock, random } = this.#context;
    const { periodMs, initialDelayMs } = this.#thresholds;
    const firstMs = Math.max(clock.monotonicMs(), (this.#runningSinceMs ?? 0) + initialDelayMs);
    if (this.#adopted) {
      // After a restart of the agent, probes are spread out, because otherwise all probes of the node would run at
      // once.
      const spreadMs = this.#state?.assumed === true ? Math.min(periodMs, ASSUMED_JITTER_MS) : periodMs;
      this.#tickDueMs = firstMs + random.next() * spreadMs;
      return this.#tickAt(this.#tickDueMs, false);
    }
    if (this.#mayBeEager()) {
      this.#eagerMs = this.#probe.exec === undefined ? EAGER_MS : EAGER_EXEC_MS;
      this.#tickDueMs = firstMs + periodMs;
      return this.#tickAt(firstMs, true);
    }
    this.#tickDueMs = this.type === 'liveness' && initialDelayMs === 0 ? firstMs + periodMs : firstMs;
    this.#tickAt(this.#tickDueMs, false);
  }

  /** Stops probing. A final result is set without being reported. */
  stop(last?: 'success'): void {
    this.#stopped = true;
    this.#rest();
    if (last !== undefined && this.#state !== undefined)
      this.#state = { ...this.#state, verdict: last, assumed: false };
  }

  #mayProbe(): boolean {
    if (this.#stopped || this.#state === undefined || this.#state.onHold || this.#runningSinceMs === undefined)
      return false;
    if (this.type === 'startup' || this.#startedId === this.#state.id) return true;
    if (!this.#context.hasStarted(this)) return false;
    this.#startedId = this.#state.id;
    return true;
  }

  #mayBeEager(): boolean {
    return (
      this.type !== 'liveness' &&
      this.#thresholds.success === 1 &&
      this.#state?.verdict !== 'success' &&
      this.#state?.last !== 'success'
    );
  }

  #notRunning(): void {
    this.#rest();
    this.#runningSinceMs = undefined;
    const state = this.#state;
    if (this.type === 'readiness' && state !== undefined && state.verdict !== 'failure')
      this.#setState({ ...state, verdict: 'failure', assumed: false });
  }

  #rest(): void {
    this.#appointment?.cancel();
    this.#appointment = undefined;
    this.#era++;
    if (this.#underWay) {
      this.#aborter.abort();
      this.#aborter = new AbortController();
      this.#underWay = false;
    }
    this.#repeats = 0;
    this.#inconclusiveSinceMs = undefined;
  }

  #tickAt(dueMs: number, eager: boolean): void {
    this.#nextTryMs = dueMs;
    this.#appointment = this.#context.schedule.at(eager ? dueMs : Math.ceil(dueMs / GRID_MS) * GRID_MS, () => {
      this.#appointment = undefined;
      void this.#tick(eager);
    });
  }

  async #tick(eager: boolean): Promise<void> {
    if (!this.#mayProbe() || this.#state === undefined) return;
    const { clock, lag, overload, tools } = this.#context;
    const era = this.#era;
    this.#underWay = true;
    const startMs = clock.monotonicMs();
    const lateMs = startMs - (this.#nextTryMs ?? startMs);
    const measurement = lag.begin(startMs);
    const load = overload.mark(startMs);
    const target = { id: this.#state.id, container: this.container, podIp: this.#podIp };
    const outcome = await runProbe(tools, this.#probe, target, {
      timeoutMs: this.#thresholds.timeoutMs,
      signal: this.#aborter.signal,
    });
    const endMs = clock.monotonicMs();
    const lagMs = measurement.end(endMs);
    if (this.#era !== era) return;
    this.#underWay = false;
    const delayCause = outcome.kind === 'timeout' ? this.#delayCauseOf(lagMs, load) : undefined;
    this.#context.onOutcome(this, delayCause === undefined ? outcome.kind : 'inconclusive', {
      durationMs: endMs - startMs,
      lateMs,
      lagMs,
    });
    if (delayCause === undefined) {
      this.#inconclusiveSinceMs = undefined;
      this.#judge(outcome, eager);
    } else this.#logInconclusive(delayCause, lagMs);
    this.#plan(endMs, { wasEager: eager, delayCause });
  }

  /** Returns the cause of a missed deadline if it is not the container. */
  #delayCauseOf(lagMs: number, load: LoadMark): DelayCause | undefined {
    if (lagMs >= Math.max(LATE_MS, this.#thresholds.timeoutMs * LATE_SHARE)) return 'agent';
    const sinceMs = this.#inconclusiveSinceMs;
    if (sinceMs !== undefined && this.#context.clock.monotonicMs() - sinceMs > OVERLOAD_PATIENCE_MS) return undefined;
    return this.#context.overload.wasOverloadedSince(load) ? 'node' : undefined;
  }

  #judge(outcome: ProbeOutcome, eager: boolean): void {
    if (outcome.kind === 'gone') return;
    const passed = outcome.kind === 'success' || outcome.kind === 'warning';
    this.#failure = passed ? undefined : { output: outcome.output, atMs: this.#context.clock.nowMs() };
    if (eager && !passed) return;
    this.#say(outcome);
    if (outcome.kind === 'error' || this.#state === undefined) return;
    this.#setState(nextProbeState(this.type, this.#thresholds, this.#state, passed ? 'success' : 'failure'));
  }

  #say(outcome: Exclude<ProbeOutcome, { kind: 'gone' }>): void {
    const { recorder } = this.#context;
    const title = titles[this.type];
    switch (outcome.kind) {
      case 'success':
        return;
      case 'warning':
        return recorder.event(
          this.#pod,
          'Warning',
          containerEvents.probeWarning,
          `${title} probe warning: ${outcome.output}`,
          this.container.name,
        );
      case 'failure':
      case 'timeout':
        return recorder.event(
          this.#pod,
          'Warning',
          containerEvents.unhealthy,
          `${title} probe failed: ${outcome.output}`,
          this.container.name,
        );
      case 'error':
        return recorder.event(
          this.#pod,
          'Warning',
          containerEvents.unhealthy,
          `${title} probe errored and resulted in ${outcome.state} state: ${outcome.output}`,
          this.container.name,
        );
    }
  }

  /** Reports once that probes are inconclusive, until a probe is conclusive again. `explain` shows it meanwhile. */
  #logInconclusive(delayCause: DelayCause, lagMs: number): void {
    const { clock, recorder } = this.#context;
    const why =
      delayCause === 'agent'
        ? `the agent itself was late by ${Math.round(lagMs)} ms`
        : 'the node is overloaded: all its processors were busy and others waited for them';
    const output = `inconclusive: ${why}, so the missed deadline does not count as a failure of the container`;
    this.#failure = { output, atMs: clock.nowMs() };
    if (this.#inconclusiveSinceMs !== undefined) return;
    this.#inconclusiveSinceMs = clock.monotonicMs();
    recorder.event(
      this.#pod,
      'Warning',
      containerEvents.probeWarning,
      `${titles[this.type]} probe ${output}`,
      this.container.name,
    );
  }

  #plan(nowMs: number, { wasEager, delayCause }: { wasEager: boolean; delayCause: DelayCause | undefined }): void {
    if (!this.#mayProbe() || this.#appointment !== undefined || this.#underWay) return;
    this.#repeats = delayCause === 'agent' ? this.#repeats + 1 : 0;
    // An overloaded node is not probed more often.
    if (delayCause === 'agent' && this.#repeats <= INSTANT_REPEATS) return this.#tickAt(nowMs, wasEager);
    const { periodMs } = this.#thresholds;
    if (!wasEager) {
      // Eager probes are made only in the first period.
      this.#eagerMs = 0;
      this.#tickDueMs = Math.max(nowMs, this.#tickDueMs + periodMs);
    }
    if (
      !this.#adopted &&
      this.#mayBeEager() &&
      this.#eagerMs > 0 &&
      this.#eagerMs < periodMs &&
      nowMs + this.#eagerMs < this.#tickDueMs
    ) {
      const dueMs = nowMs + this.#eagerMs;
      this.#eagerMs *= 2;
      return this.#tickAt(dueMs, true);
    }
    // After an eager success, the ticks continue from its time.
    if (wasEager && this.#state?.last === 'success') this.#tickDueMs = nowMs + periodMs;
    this.#tickAt(Math.max(nowMs, this.#tickDueMs), false);
  }

  #setState(after: ProbeState): void {
    const before = this.#state;
    if (after === before) return;
    this.#state = after;
    this.#context.onState(this, before, after);
  }
}
