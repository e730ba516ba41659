import type { Clock } from '../../../base/clock.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { ClusterApi } from '../../ports/cluster-api.ts';
import type { ActivityTracker } from './activity-tracker.ts';
import type { BlockerFacts } from './compute-blockers.ts';
import { computeSuggestions } from './compute-suggestions.ts';
import type { ObjectSources } from './explain-facts.ts';
import { suggestionObjects, outageFor } from './explain-facts.ts';
import type { ExplainSources } from './explain-store.ts';
import { ExplainStore } from './explain-store.ts';
import type { Timeline } from './timeline.ts';

/** The state of the pod workers that explain reads. */
export interface ExplainWorkers {
  stateOf(
    uid: PodUid,
  ):
    | { readonly phase: Exclude<BlockerFacts['worker'], 'none'>; readonly termination?: { readonly graceMs: number } }
    | undefined;
  sinceMs(uid: PodUid): number | undefined;
  retryOf(uid: PodUid): { lastError: string | undefined; inMs: number | undefined };
  busyForMs(uid: PodUid): number | undefined;
}

export interface CreateExplainParts extends ObjectSources {
  /** The folder of manifests as the configuration names it. */
  readonly staticPodPath: string;
  readonly rootDir: string;
  readonly drivers: { nodeDrivers(): readonly { readonly name: string }[] };
  /** The API; undefined on a standalone node. */
  readonly cluster: Pick<ClusterApi, 'outage'> | undefined;
  readonly directory: { visible(): Iterable<Pod> };
  readonly statuses: { get: ExplainSources['status'] };
  readonly probes: { report: ExplainSources['probes'] };
  readonly volumes: { blockers: ExplainSources['volumes'] };
  /** Returns the workers and the statuses. They are read when needed, because they are created later. */
  readonly workers: () => ExplainWorkers;
  readonly loop: () => { heldBack(): BlockerFacts['heldBack'] };
  readonly activityTracker: ActivityTracker;
  readonly timeline: Timeline;
  readonly clock: Clock;
}

/** Explains why a pod is not settled, from the state of this agent. */
export function createExplain(parts: CreateExplainParts): ExplainStore {
  const { directory, statuses, probes, volumes, drivers, cluster, workers, loop, clock } = parts;
  const suggestionFacts = {
    ...suggestionObjects(parts),
    manifests: parts.staticPodPath,
    registry: `${parts.rootDir}/plugins_registry`,
    isDriverThere: (name: string) => drivers.nodeDrivers().some((driver) => driver.name === name),
  };
  return new ExplainStore({
    activityTracker: parts.activityTracker,
    timeline: parts.timeline,
    sources: {
      pods: () => directory.visible(),
      status: (uid) => statuses.get(uid),
      probes: (uid) => probes.report(uid),
      volumes: (uid) => volumes.blockers(uid),
      suggestions: (pod) => computeSuggestions(pod, suggestionFacts),
      outage: (pod) => outageFor(pod, parts, cluster, volumes.blockers(podUid(pod.metadata.uid)).length > 0),
      worker: (uid) => ({ heldBack: loop().heldBack(), ...workerFacts(workers(), uid, clock.nowMs()) }),
    },
  });
}

/** A sync of a healthy pod takes milliseconds. A sync that exceeds this limit is blocked. */
const LONG_PASS_MS = 1000;
/** How long a runtime takes after a grace period to kill the containers and to report their end. */
const STOP_MS = 3000;

/** Returns the state of a pod's worker, with its times on the wall clock. */
export function workerFacts(
  workers: ExplainWorkers,
  uid: PodUid,
  nowMs: number,
): Pick<BlockerFacts, 'worker' | 'workerSinceMs' | 'graceEndsMs' | 'isGraceOver' | 'retry' | 'busySinceMs'> {
  const { lastError, inMs } = workers.retryOf(uid);
  const busyForMs = workers.busyForMs(uid) ?? 0;
  const state = workers.stateOf(uid);
  const workerSinceMs = workers.sinceMs(uid) ?? nowMs;
  const graceEndsMs = state?.phase === 'terminating' ? workerSinceMs + (state.termination?.graceMs ?? 0) : undefined;
  return {
    worker: state?.phase ?? 'none',
    workerSinceMs,
    ...(graceEndsMs !== undefined && { graceEndsMs, isGraceOver: nowMs > graceEndsMs + STOP_MS }),
    retry: { lastError, nextTryAtMs: inMs === undefined ? undefined : nowMs + inMs },
    busySinceMs: busyForMs < LONG_PASS_MS ? undefined : nowMs - busyForMs,
  };
}
