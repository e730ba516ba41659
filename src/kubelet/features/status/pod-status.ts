import { orderPodIps } from '../../../api/pod-ips.ts';
import { isHostNetwork, isRestartableInit, isStaticPod, isTerminalPhase } from '../../../api/pod.ts';
import { podQos } from '../../../api/qos.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type {
  ContainerStatus,
  PodCondition,
  PodPhase,
  PodStatus,
  ResourceStatus,
} from '../../../api/core/pod-status.ts';
import type { ContainerId } from '../../model/ids.ts';
import { containerId } from '../../model/ids.ts';
import type { ProbeType } from '../../model/probe-result.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import { endStatuses } from './end-statuses.ts';
import { computeConditions } from './conditions.ts';
import { containerStatuses } from './container-statuses.ts';
import type { ActuatedRecords, OomKills, ProbeVerdicts, RestartRules, StartFailures } from './interfaces.ts';
import { limitMessages } from './message-limit.ts';
import { computePhase } from './phase.ts';
import { podStatusResources } from './resources-status.ts';

/** A result of the agent that takes precedence over the states of the containers. */
export interface StatusOverride {
  readonly phase: PodPhase;
  readonly reason: string;
  readonly message: string;
  /**
   * Whether the result applies only until the pod has stopped. Then the end of its containers determines the phase, if
   * they have one.
   */
  readonly untilStopped?: boolean;
}

export interface PodStatusFacts {
  readonly pod: Pod;
  readonly runtime: PodRuntimeStatus;
  /** The status that was published last for this pod; undefined the first time. */
  readonly previous: PodStatus | undefined;
  /** Whether an earlier run of the agent published it. */
  readonly isPreviousRestored?: boolean;
  /** Whether the pod is being stopped permanently. */
  readonly isTerminal: boolean;
  /** Whether the pod was stopped and its state is final. A container without a termination then has an unknown one. */
  readonly isOver?: boolean;
  /**
   * Whether a worker that may restart ended containers is busy with the pod. Then the pod has not ended although
   * nothing runs.
   */
  readonly isUndecided?: boolean;
  /** The agent's own result that overrides the container states: rejected, evicted, past its deadline. */
  readonly override?: StatusOverride;
  readonly rules: RestartRules;
  readonly probes: ProbeVerdicts;
  readonly failures: StartFailures;
  /** The allocated and the recorded resources of the pod; `pod` has its allocated resources. */
  readonly resize?: { conditions: readonly PodCondition[]; actuated: ActuatedRecords };
  /** The processes that the kernel killed in the pod because memory ran out. */
  readonly oomKills?: OomKills;
  /** Returns the health of a container's devices, or undefined if it has none. */
  readonly deviceHealth?: ((container: string) => ResourceStatus[] | undefined) | undefined;
  readonly runtimeName: string;
  /** Whether stop signals are shown (feature gate ContainerStopSignals). */
  readonly stopSignals?: boolean;
  /** Whether volumes of the pod are not ready. Upstream creates no sandbox before they are. */
  readonly waitsForVolumes?: boolean;
  /** Whether the feature gate PodReadyToStartContainersCondition is off. */
  readonly hidesReadyToStart?: boolean | undefined;
  /** The node's addresses, primary family first; may be empty in standalone mode. */
  readonly hostIps: readonly string[];
}

/**
 * Computes the status of a pod from all that is known of it (upstream: kubelet_pods.go generateAPIPodStatus). It is
 * pure. The status manager adds transition times and the start time when it stores the result.
 */
export function generatePodStatus(facts: PodStatusFacts): PodStatus {
  const { pod, runtime, previous, rules, failures, runtimeName } = facts;
  const of = (statuses: readonly ContainerStatus[] | undefined) => ({
    pod,
    runtime,
    previous: statuses ?? [],
    isPreviousRestored: facts.isPreviousRestored === true,
    rules,
    failures,
    deviceHealth: facts.deviceHealth,
    runtimeName,
    stopSignals: facts.stopSignals,
    oomKills: facts.oomKills,
    ...(facts.resize === undefined ? {} : { actuated: facts.resize.actuated }),
  });
  const known = {
    init: containerStatuses(of(previous?.initContainerStatuses), pod.spec.initContainers ?? [], 'init'),
    regular: containerStatuses(of(previous?.containerStatuses), pod.spec.containers, 'regular'),
    ephemeral: containerStatuses(
      of(previous?.ephemeralContainerStatuses),
      pod.spec.ephemeralContainers ?? [],
      'ephemeral',
    ),
  };
  const { init, regular, ephemeral } = rules.isGivenUp(pod, runtime) ? endStatuses(pod, known, 'given up') : known;
  const judged = {
    init: judgeAll(facts, init, {
      containers: pod.spec.initContainers ?? [],
      published: previous?.initContainerStatuses,
    }),
    regular: judgeAll(facts, regular, { containers: pod.spec.containers, published: previous?.containerStatuses }),
  };
  const statuses = [...judged.init, ...judged.regular];
  const phase = finalPhase(facts, phaseOf(facts, statuses));
  const shown = facts.isOver === true ? endStatuses(pod, { ...judged, ephemeral: [] }, 'over') : judged;
  const status: PodStatus = { phase, qosClass: podQos(pod) };
  if (pod.metadata.generation !== undefined) status.observedGeneration = pod.metadata.generation;
  Object.assign(status, reasonOf(facts, phase));
  status.conditions = computeConditions({
    pod,
    phase,
    statuses,
    sandboxReady: !rules.needsNewSandbox(pod, runtime) && !isWaitingForVolumes(facts),
    restartingAll: rules.shouldRestartAllContainers(pod, runtime),
    previous: previous?.conditions ?? [],
    resize: facts.isTerminal ? [] : (facts.resize?.conditions ?? []),
    oomKilled: facts.oomKills?.condition,
    hidesReadyToStart: facts.hidesReadyToStart,
  });
  addAddresses(status, facts);
  if (facts.resize !== undefined) Object.assign(status, podStatusResources(pod, facts.resize.actuated));
  if (shown.init.length > 0) status.initContainerStatuses = limitMessages(pod, shown.init);
  status.containerStatuses = limitMessages(pod, shown.regular);
  if (ephemeral.length > 0) status.ephemeralContainerStatuses = limitMessages(pod, ephemeral);
  return status;
}

/**
 * Whether the pod waits for its volumes. The volumes of a pod that had containers are mounted; only their content is
 * refreshed.
 */
const isWaitingForVolumes = ({ runtime, waitsForVolumes }: PodStatusFacts): boolean =>
  waitsForVolumes === true && runtime.containers.length === 0;

/**
 * Returns the phase. A terminal phase is final, whichever run of the agent reported it. A stopped pod is Failed only
 * until its containers determine the phase. A later loss of records does not turn success into failure.
 */
function phaseOf(facts: PodStatusFacts, statuses: readonly ContainerStatus[]): PodPhase {
  if (isTerminalPhase(facts.pod.status?.phase)) return facts.pod.status.phase;
  const { override } = facts;
  if (override !== undefined && !(facts.isTerminal && override.untilStopped === true)) return override.phase;
  if (facts.previous?.phase === 'Succeeded') return facts.previous.phase;
  const regular = new Set(facts.pod.spec.containers.map((container) => container.name));
  const sandbox = facts.runtime.sandboxes[0];
  const hasInitialized = facts.runtime.containers.some(
    (record) => regular.has(record.name) && record.sandboxId === sandbox?.id,
  );
  const computed = computePhase({
    pod: facts.pod,
    statuses,
    isTerminal: facts.isTerminal,
    isGivenUp: facts.rules.isGivenUp(facts.pod, facts.runtime),
    hasInitialized,
    rules: facts.rules,
  });
  const said = facts.previous?.phase;
  if (isTerminalPhase(computed))
    return facts.isUndecided === true && !isTerminalPhase(said) ? (said ?? 'Pending') : computed;
  return isTerminalPhase(said) ? said : (override?.phase ?? computed);
}

/**
 * Returns the phase of a finished pod. It is Failed if nothing else is known; static pods keep their phase, as in
 * upstream.
 */
function finalPhase(facts: PodStatusFacts, phase: PodPhase): PodPhase {
  if (facts.isOver !== true || isTerminalPhase(phase)) return phase;
  return isStaticPod(facts.pod) ? (facts.previous?.phase ?? phase) : 'Failed';
}

function reasonOf(facts: PodStatusFacts, phase: PodPhase): Pick<PodStatus, 'reason' | 'message'> {
  if (facts.override !== undefined && facts.override.phase === phase)
    return { reason: facts.override.reason, message: facts.override.message };
  if (facts.previous?.phase !== phase) return {};
  const kept: Pick<PodStatus, 'reason' | 'message'> = {};
  const reason = facts.previous.reason ?? facts.pod.status?.reason;
  const message = facts.previous.message ?? facts.pod.status?.message;
  if (reason !== undefined) kept.reason = reason;
  if (message !== undefined) kept.message = message;
  return kept;
}

/**
 * Returns the published status of a container that the worker has stopped because its definition changed. It is shown
 * until the successor runs or the sync has failed, and the pod stays Ready (upstream: statuses are generated between
 * syncs, and one sync both stops and starts the container).
 */
function beingReplaced(
  { isUndecided, runtime, runtimeName, rules }: PodStatusFacts,
  status: ContainerStatus,
  known: KnownContainers,
): ContainerStatus | undefined {
  if (isUndecided !== true || status.state?.running !== undefined) return undefined;
  const published = known.published?.find(({ name }) => name === status.name);
  if (published?.state?.running === undefined) return undefined;
  const container = known.containers.find(({ name }) => name === status.name);
  const stopped = runtime.containers.find(({ id }) => `${runtimeName}://${id}` === published.containerID);
  if (container === undefined || stopped === undefined) return undefined;
  return rules.isDefinitionChanged(container, stopped) ? published : undefined;
}

interface KnownContainers {
  readonly containers: readonly AnyContainer[];
  readonly published: readonly ContainerStatus[] | undefined;
}

const judgeAll = (facts: PodStatusFacts, statuses: readonly ContainerStatus[], known: KnownContainers) =>
  statuses.map((status) => beingReplaced(facts, status, known) ?? judge(facts, status, known.containers));

/** Sets `started` and `ready` (upstream: prober_manager.go UpdatePodStatus). */
function judge(facts: PodStatusFacts, status: ContainerStatus, containers: readonly AnyContainer[]): ContainerStatus {
  const container = containers.find((candidate) => candidate.name === status.name);
  if (container === undefined) return status;
  const isInit = (facts.pod.spec.initContainers ?? []).some((candidate) => candidate.name === status.name);
  const running = status.state?.running !== undefined;
  const id = containerId(status.containerID?.replace(/^[^:]*:\/\//, '') ?? '');
  const started = running && passed(facts, 'startup', id, container.startupProbe !== undefined);
  if (isInit && !isRestartableInit(container))
    return { ...status, started, ready: status.state?.terminated?.exitCode === 0 };
  return {
    ...status,
    started,
    ready: started && passed(facts, 'readiness', id, container.readinessProbe !== undefined),
  };
}

function passed(facts: PodStatusFacts, type: ProbeType, id: ContainerId, hasProbe: boolean): boolean {
  return !hasProbe || facts.probes.get(type, id) === 'success';
}

function addAddresses(status: PodStatus, facts: PodStatusFacts): void {
  const [hostIp] = facts.hostIps;
  if (hostIp !== undefined) {
    status.hostIP = hostIp;
    status.hostIPs = facts.hostIps.map((ip) => ({ ip }));
  }
  const own = facts.runtime.sandboxes.find((sandbox) => sandbox.ready)?.ips ?? [];
  const kept = (facts.previous?.podIPs ?? []).map((address) => address.ip);
  // A pod keeps its addresses after its sandbox stopped (upstream: kubelet.go SyncTerminatingPod).
  const ips = isHostNetwork(facts.pod)
    ? kept.length > 0
      ? kept
      : facts.hostIps
    : own.length > 0
      ? orderPodIps(own, facts.hostIps)
      : kept;
  const [primary] = ips;
  if (primary === undefined) return;
  status.podIP = primary;
  status.podIPs = ips.map((ip) => ({ ip }));
}
