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
 * Containers younger than this when the agent started may not have been probed by the agent before it (upstream:
 * kubeletRestartGracePeriod).
 */
const ADOPTION_AGE_MS = 10_000;
const LATE_LOG_PAUSE_MS = 10_000;
/** How long after the start a saved result waits for its container to be seen. */
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
  /** The node's load; without it, no missed deadline is attributed to the node. */
  readonly nodeLoad?: ReadNodeLoad;
  /** The node's address, where pods on the host's network are probed. */
  readonly hostIp: () => string;
  /** A result changed. Not called for the initial result of a container. */
  readonly onUpdate: (update: ProbeUpdate) => void;
  /** Called after each probe, for measuring. */
  readonly onProbe?: (
    probe: { type: ProbeType; pod: Pod; container: string },
    outcome: ProbeOutcome['kind'] | 'inconclusive',
    facts: ProbeFacts,
  ) => void;
  /** The change to what `snapshot` returns. */
  readonly onSnapshotChange?: (change: ProbeEntry) => void;
}

/**
 * One probe of one container, as it is now. Times are wall milliseconds; `lastOutput` is from the last failed probe.
 */
export interface ProbeReport {
  readonly container: string;
  readonly type: ProbeType;
  readonly verdict: ProbeVerdict;
  readonly lastOutput?: string;
  readonly lastAtMs?: number;
  readonly nextTryAtMs?: number;
}

/** Since the agent started. `inconclusive`: deadlines missed because the agent was late or the node overloaded. */
export type ProbeCounters = Readonly<Record<ProbeOutcome['kind'] | 'inconclusive', number>>;

interface PodProbes {
  pod: Pod;
  readonly workers: readonly ProbeWorker[];
}

const types: readonly ProbeType[] = ['startup', 'readiness', 'liveness'];

/**
 * All probes of the node (upstream: prober/prober_manager.go). It is notified of what runs (`noteStatus`) and reports
 * what changed (`onUpdate`); nothing is polled.
 * 1. Results are kept by container, so that one of an earlier container never applies to its successor.
 * 2. Results survive a restart of the agent through snapshot and restore; a lost snapshot does not turn a container not
 *    ready.
 */
export class ProbeManager {
  readonly #options: ProbeManagerOptions;
  readonly #pods = new Map<PodUid, PodProbes>();
  readonly #states = new Map<string, ProbeState>();
  readonly #latest = new Map<PodUid, PodRuntimeStatus>();
  /**
   * The containers that existed when a pod was first seen; later ones were created by this agent, whatever the wall
   * clock says.
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
  /** For older containers the saved results may be incomplete; for younger ones they are not. */
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
   * Creates a worker for each probe of the pod's regular containers and sidecars. Known pods are only refreshed: probes
   * cannot change.
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
   * The runtime status of a pod changed: containers were created, started, or exited. Call it whenever the runtime
   * cache changes; it is cheap.
   */
  noteStatus(status: PodRuntimeStatus): void {
    if (!this.#found.has(status.uid))
      this.#found.set(status.uid, new Set(status.containers.map((container) => container.id)));
    this.#latest.set(status.uid, status);
    this.#observe(status.uid, status);
  }

  /**
   * The pod is being terminated: readiness probes continue, the others end as successes (upstream:
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

  /** Removes every pod that is not listed. */
  cleanUpPods(desired: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of new Set([...this.#pods.keys(), ...this.#latest.keys()]))
      if (!desired.has(uid)) this.removePod(uid);
  }

  /**
   * The result for this very container; undefined when it has no such probe or was never seen. Before the first probe:
   * liveness success, readiness failure, startup unknown.
   */
  get(type: ProbeType, id: ContainerId): ProbeVerdict | undefined {
    return this.#states.get(verdictKey(type, id))?.verdict;
  }

  /** The state of each probe of a pod, for `explain`. */
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

  /** What to save for the next start of the agent: every result of an actual probe. */
  snapshot(): ProbeEntry[] {
    const { clock } = this.#options;
    if (this.#remembered.size > 0 && clock.monotonicMs() - this.#startedMonotonicMs > REMEMBER_MS) {
      this.#remembered.clear();
      this.#completeSinceMs = clock.nowMs();
    }
    // A crash right after the start must not lose the results of containers that were not seen yet.
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
   * Loads the saved results of an earlier agent, before any pod is added; `isWhole` false: some were lost. Invalid
   * entries are skipped.
   */
  restore({ entries, isWhole }: { entries: readonly unknown[]; isWhole: boolean }): void {
    const { verdicts, completeSinceMs } = parseProbeEntries(entries);
    this.#remembered = verdicts;
    if (isWhole) this.#completeSinceMs = Math.min(this.#startedAtMs, completeSinceMs);
  }

  /** Ends all probes; results can still be read. */
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
    // A container missing from a complete record was never probed.
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
    // An unfinished probe must be saved too, or the next agent would assume the container to be healthy.
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
      // The wall clock was set back: containers that start from now on have time stamps from before the record began.
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
