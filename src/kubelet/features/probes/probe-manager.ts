import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { orderPodIps } from '../../../api/pod-ips.ts';
import { isHostNetwork, isRestartableInit } from '../../../api/pod.ts';
import type { ContainerId, PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ProbeType, ProbeVerdict } from '../../model/probe-result.ts';
import type { ContainerRuntimeStatus, PodRuntimeStatus } from '../../model/runtime-status.ts';
import { newestContainer } from '../../model/runtime-status.ts';
import type { NetDial } from '../../ports/net-dial.ts';
import type { ReadNodeLoad } from '../../ports/node-load.ts';
import type { EventRecorder } from '../../ports/recorder.ts';
import type { ContainerRuntime } from '../../ports/runtime.ts';
import { LagWatch } from './lag-watch.ts';
import { OverloadWatch } from './overload-watch.ts';
import { ProbeSchedule } from './probe-schedule.ts';
import type { ProbeEntry, RememberedProbes, SavedVerdict } from './probe-snapshot.ts';
import { parseProbeEntries, splitVerdictKey, verdictKey } from './probe-snapshot.ts';
import type { ProbeState } from './probe-state.ts';
import { adoptedState, freshState, hasStarted, probeOf } from './probe-state.ts';
import type { ProbeFacts, SeenContainer, WorkerContext } from './probe-worker.ts';
import { ProbeWorker } from './probe-worker.ts';
import type { ProbeOutcome } from './run-probe.ts';

/**
 * The minimum age of a container at the start of the agent. Younger containers may not have been probed by the agent
 * before it (upstream: kubeletRestartGracePeriod).
 */
const ADOPTION_AGE_MS = 10_000;
const LATE_LOG_PAUSE_MS = 10_000;
/** How long after the start a saved result is kept for a container that has not been seen yet. */
const REMEMBER_MS = 300_000;

export interface ProbeUpdate {
  readonly podUid: PodUid;
  readonly containerId: ContainerId;
  readonly type: ProbeType;
  readonly verdict: ProbeVerdict;
}

export interface ProbeManagerOptions {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly recorder: EventRecorder;
  readonly runtime: Pick<ContainerRuntime, 'execSync'>;
  readonly dial: Pick<NetDial, 'httpProbe' | 'tcpProbe' | 'grpcProbe'>;
  /** Reads the node's load. Without it, no missed deadline is attributed to the node. */
  readonly nodeLoad?: ReadNodeLoad;
  /** Returns the node's address, where pods on the host's network are probed. */
  readonly hostIp: () => string;
  /** Called when a result changed, but not for the initial result of a container. */
  readonly onUpdate: (update: ProbeUpdate) => void;
  /** Called after each probe, for metrics. */
  readonly onProbe?: (
    probe: { type: ProbeType; pod: Pod; container: string },
    outcome: ProbeOutcome['kind'] | 'inconclusive',
    facts: ProbeFacts,
  ) => void;
  /** Called with each change of what `snapshot` returns. */
  readonly onSnapshotChange?: (change: ProbeEntry) => void;
}

/**
 * The state of one probe of one container. Times are wall-clock milliseconds. `lastOutput` is that of the last failed
 * probe.
 */
export interface ProbeReport {
  readonly container: string;
  readonly type: ProbeType;
  readonly verdict: ProbeVerdict;
  readonly lastOutput?: string;
  readonly lastAtMs?: number;
  readonly nextTryAtMs?: number;
}

/**
 * The outcomes since the agent started. `inconclusive` counts deadlines that were missed because the agent was late or
 * the node overloaded.
 */
export type ProbeCounters = Readonly<Record<ProbeOutcome['kind'] | 'inconclusive', number>>;

interface PodProbes {
  pod: Pod;
  readonly workers: readonly ProbeWorker[];
}

const types: readonly ProbeType[] = ['startup', 'readiness', 'liveness'];

/**
 * Manages all probes of the node (upstream: prober/prober_manager.go). It is notified of running containers
 * (`noteStatus`) and reports changed results (`onUpdate`), without polling. Invariants:
 * 1. Results are stored by container, so that the result of an earlier container never applies to its successor.
 * 2. Results survive a restart of the agent through snapshot and restore. A lost snapshot does not make a container
 *    unready.
 */
export class ProbeManager {
  readonly #options: ProbeManagerOptions;
  readonly #pods = new Map<PodUid, PodProbes>();
  readonly #states = new Map<string, ProbeState>();
  readonly #latest = new Map<PodUid, PodRuntimeStatus>();
  /**
   * The containers that existed when a pod was first seen. This agent created the later ones, whatever their creation
   * times on the wall clock.
   */
  readonly #found = new Map<PodUid, ReadonlySet<ContainerId>>();
  readonly #schedule: ProbeSchedule;
  readonly #context: WorkerContext;
  readonly #startedAtMs: number;
  readonly #counters: Record<ProbeOutcome['kind'] | 'inconclusive', number> = {
    success: 0,
    warning: 0,
    failure: 0,
    timeout: 0,
    error: 0,
    gone: 0,
    inconclusive: 0,
  };
  readonly #startedMonotonicMs: number;
  #remembered: RememberedProbes['verdicts'] = new Map();
  /** The wall-clock time since when the saved results are complete. They may be incomplete for older containers. */
  #completeSinceMs: number;
  #lateLoggedMs = Number.NEGATIVE_INFINITY;

  constructor(options: ProbeManagerOptions) {
    const { clock, random, recorder, runtime, dial } = options;
    this.#options = options;
    this.#startedAtMs = clock.nowMs();
    this.#completeSinceMs = this.#startedAtMs;
    this.#startedMonotonicMs = clock.monotonicMs();
    this.#schedule = new ProbeSchedule(clock);
    this.#context = {
      clock,
      random,
      recorder,
      schedule: this.#schedule,
      lag: new LagWatch(clock),
      overload: new OverloadWatch(clock, options.nodeLoad ?? (() => undefined)),
      tools: { runtime, dial },
      hasStarted: (worker) => this.#hasStarted(worker),
      onState: (worker, before, after) => this.#onState(worker, before, after),
      onOutcome: (worker, outcome, facts) => this.#onOutcome(worker, outcome, facts),
    };
  }

  /**
   * Creates a worker for each probe of the pod's regular containers and sidecars. A known pod is only refreshed,
   * because probes cannot change.
   */
  addPod(pod: Pod): void {
    const uid = podUid(pod.metadata.uid);
    const known = this.#pods.get(uid);
    if (known !== undefined) {
      known.pod = pod;
      for (const worker of known.workers) worker.setPod(pod);
      return;
    }
    const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isRestartableInit)];
    const workers = containers.flatMap((container) =>
      types.flatMap((type) => {
        const probe = probeOf(container, type);
        return probe === undefined
          ? []
          : [new ProbeWorker(this.#context, { pod, podUid: uid, type, container, probe })];
      }),
    );
    this.#pods.set(uid, { pod, workers });
    const latest = this.#latest.get(uid);
    if (latest !== undefined) this.#observe(uid, latest);
  }

  /**
   * Handles a change of a pod's runtime status: containers were created, started, or exited. It must be called at each
   * change of the runtime cache, and is cheap.
   */
  noteStatus(status: PodRuntimeStatus): void {
    if (!this.#found.has(status.uid))
      this.#found.set(status.uid, new Set(status.containers.map((container) => container.id)));
    this.#latest.set(status.uid, status);
    this.#observe(status.uid, status);
  }

  /**
   * Handles the termination of a pod: readiness probes continue, and the others end as successes (upstream:
   * StopLivenessAndStartup).
   */
  stopLivenessAndStartup(uid: PodUid): void {
    for (const worker of this.#pods.get(uid)?.workers ?? []) {
      if (worker.type === 'readiness') continue;
      worker.stop('success');
      if (worker.state !== undefined) this.#states.set(verdictKey(worker.type, worker.state.id), worker.state);
    }
  }

  /** Ends the probes of a pod and drops its results. */
  removePod(uid: PodUid): void {
    for (const worker of this.#pods.get(uid)?.workers ?? []) {
      worker.stop();
      if (worker.state !== undefined) this.#forgetState(worker.type, worker.state.id);
    }
    this.#pods.delete(uid);
    this.#latest.delete(uid);
    this.#found.delete(uid);
  }

  /** Removes all pods that are not listed. */
  cleanUpPods(desired: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of new Set([...this.#pods.keys(), ...this.#latest.keys()]))
      if (!desired.has(uid)) this.removePod(uid);
  }

  /**
   * Returns the result of exactly this container; undefined if it has no such probe or was never seen. Before the first
   * probe, liveness is success, readiness failure, and startup unknown.
   */
  get(type: ProbeType, id: ContainerId): ProbeVerdict | undefined {
    return this.#states.get(verdictKey(type, id))?.verdict;
  }

  /** Returns the state of each probe of a pod, for `explain`. */
  report(uid: PodUid): ProbeReport[] {
    return (this.#pods.get(uid)?.workers ?? []).map((worker) => ({
      container: worker.container.name,
      type: worker.type,
      verdict: worker.state?.verdict ?? 'unknown',
      ...worker.report(),
    }));
  }

  counters(): ProbeCounters {
    return { ...this.#counters };
  }

  /** Returns what must be saved for the next start of the agent: the result of every probe that ran. */
  snapshot(): ProbeEntry[] {
    const { clock } = this.#options;
    if (this.#remembered.size > 0 && clock.monotonicMs() - this.#startedMonotonicMs > REMEMBER_MS) {
      this.#remembered.clear();
      this.#completeSinceMs = clock.nowMs();
    }
    // A crash right after the start must not lose the results of containers that have not been seen yet.
    const waiting = [...this.#remembered].map(([key, verdict]) => ({ ...splitVerdictKey(key), verdict }));
    const verdicts = [...this.#pods.values()].flatMap(({ workers }) =>
      workers.flatMap(({ type, state }) =>
        state === undefined || state.assumed || state.verdict === 'unknown'
          ? []
          : [{ id: state.id, type, verdict: state.verdict }],
      ),
    );
    return [{ completeSinceMs: this.#completeSinceMs }, ...waiting, ...verdicts];
  }

  /**
   * Loads the saved results of an earlier agent, before any pod is added. If `isWhole` is false, some were lost.
   * Invalid entries are skipped.
   */
  restore({ entries, isWhole }: { entries: readonly unknown[]; isWhole: boolean }): void {
    const { verdicts, completeSinceMs } = parseProbeEntries(entries);
    this.#remembered = verdicts;
    if (isWhole) this.#completeSinceMs = Math.min(this.#startedAtMs, completeSinceMs);
  }

  /** Ends all probes. Results can still be read. */
  stop(): void {
    for (const { workers } of this.#pods.values()) for (const worker of workers) worker.stop();
    this.#schedule.clear();
  }

  #observe(uid: PodUid, status: PodRuntimeStatus): void {
    const probes = this.#pods.get(uid);
    if (probes === undefined) return;
    const podIp = isHostNetwork(probes.pod)
      ? this.#options.hostIp()
      : (orderPodIps(status.sandboxes[0]?.ips ?? [], [this.#options.hostIp()])[0] ?? '');
    for (const worker of probes.workers) {
      const container = newestContainer(status, worker.container.name);
      if (container === undefined) continue;
      const seen: SeenContainer = {
        id: container.id,
        running: container.state === 'running',
        startedAtMs: container.startedAtMs,
        podIp,
      };
      worker.observe(seen, () => this.#begin(worker.type, container, this.#found.get(uid)?.has(container.id) === true));
    }
  }

  #begin(type: ProbeType, container: ContainerRuntimeStatus, found: boolean): { state: ProbeState; adopted: boolean } {
    const key = verdictKey(type, container.id);
    const remembered = this.#remembered.get(key);
    this.#remembered.delete(key);
    // A container that is missing from a complete record was never probed.
    const isOld =
      found &&
      container.state === 'running' &&
      container.startedAtMs > 0 &&
      container.startedAtMs < Math.min(this.#startedAtMs - ADOPTION_AGE_MS, this.#completeSinceMs);
    if (remembered === undefined && !isOld) return { state: freshState(type, container.id), adopted: false };
    return { state: adoptedState(type, container.id, remembered), adopted: true };
  }

  #hasStarted(worker: ProbeWorker): boolean {
    const startup = this.#pods
      .get(worker.podUid)
      ?.workers.find((each) => each.type === 'startup' && each.container.name === worker.container.name);
    if (startup === undefined) return true;
    return startup.state?.id === worker.state?.id && hasStarted(startup.state);
  }

  #onState(worker: ProbeWorker, before: ProbeState | undefined, after: ProbeState): void {
    if (before !== undefined && before.id !== after.id) this.#forgetState(worker.type, before.id);
    this.#states.set(verdictKey(worker.type, after.id), after);
    const { podUid: uid, type } = worker;
    // An unfinished probe must be saved too, or the next agent would assume that the container is healthy.
    const isNew = before?.id !== after.id || before.verdict !== after.verdict || before.assumed !== after.assumed;
    if (isNew && !after.assumed) this.#save({ id: after.id, type, verdict: after.verdict });
    if (before?.id === after.id && before.verdict !== after.verdict)
      this.#options.onUpdate({ podUid: uid, containerId: after.id, type, verdict: after.verdict });
    if (type !== 'startup' || !hasStarted(after)) return;
    for (const other of this.#pods.get(uid)?.workers ?? [])
      if (other.container.name === worker.container.name) other.wake();
  }

  #save(verdict: SavedVerdict): void {
    const nowMs = this.#options.clock.nowMs();
    if (nowMs < this.#completeSinceMs) {
      // The wall clock was set back, so containers that start from now on have time stamps from before the record
      // began.
      this.#completeSinceMs = nowMs;
      this.#options.onSnapshotChange?.({ completeSinceMs: nowMs });
    }
    this.#options.onSnapshotChange?.(verdict);
  }

  #forgetState(type: ProbeType, id: ContainerId): void {
    this.#states.delete(verdictKey(type, id));
  }

  #onOutcome(worker: ProbeWorker, outcome: ProbeOutcome['kind'] | 'inconclusive', facts: ProbeFacts): void {
    this.#counters[outcome]++;
    this.#options.onProbe?.({ type: worker.type, pod: worker.pod, container: worker.container.name }, outcome, facts);
    if (outcome !== 'inconclusive') return;
    const nowMs = this.#options.clock.monotonicMs();
    if (nowMs - this.#lateLoggedMs < LATE_LOG_PAUSE_MS) return;
    this.#lateLoggedMs = nowMs;
    this.#options.log.warn(
      'probe deadlines missed because the agent was late or the node overloaded; they do not count against the containers',
      {
        type: worker.type,
        container: worker.container.name,
        lagMs: Math.round(facts.lagMs),
        inconclusive: this.#counters.inconclusive,
      },
    );
  }
}
