import { isRestartableInit } from '../../../api/pod.ts';
import { podConditionReasons } from '../../../api/reasons.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus, PodCondition, PodPhase } from '../../../api/core/pod-status.ts';

export interface ConditionFacts {
  readonly pod: Pod;
  readonly phase: PodPhase;
  /** The statuses of init and regular containers. */
  readonly statuses: readonly ContainerStatus[];
  readonly sandboxReady: boolean;
  readonly restartingAll: boolean;
  readonly previous: readonly PodCondition[];
  /** The conditions PodResizePending and PodResizeInProgress, from the allocation manager. */
  readonly resize?: readonly PodCondition[];
  /**
   * The condition that the kernel killed a process in the pod. A condition from an earlier run of the agent is kept.
   */
  readonly oomKilled?: PodCondition;
  /** Whether PodReadyToStartContainers is left to other clients. By default the agent sets it. */
  readonly hidesReadyToStart?: boolean | undefined;
}

type Verdict = Pick<PodCondition, 'status' | 'reason' | 'message'>;
const met: Verdict = { status: 'True' };

const READY_TO_START = 'PodReadyToStartContainers';

/**
 * The conditions that the agent owns. All others belong to other clients and are kept (upstream: types/pod_status.go).
 */
export const ownConditions: ReadonlySet<string> = new Set([
  READY_TO_START,
  'Initialized',
  'Ready',
  'ContainersReady',
  'PodScheduled',
  'AllContainersRestarting',
  'PodResizePending',
  'PodResizeInProgress',
  'OOMKilled',
]);

/**
 * Computes the pod's conditions in upstream's order, without transition times (upstream: kubelet_pods.go
 * generateAPIPodStatus, status/generate.go).
 */
export function computeConditions(facts: ConditionFacts): PodCondition[] {
  const hidden = facts.hidesReadyToStart === true ? READY_TO_START : undefined;
  const foreign = (facts.pod.status?.conditions ?? []).filter(
    ({ type }) => !ownConditions.has(type) || type === hidden,
  );
  const disruption = facts.previous.find((condition) => condition.type === 'DisruptionTarget');
  const oomKilled = facts.oomKilled ?? facts.previous.find((condition) => condition.type === 'OOMKilled');
  const others = [...foreign, ...(facts.resize ?? []), ...(oomKilled === undefined ? [] : [oomKilled])];
  const kept =
    disruption === undefined
      ? others
      : [...others.filter((condition) => condition.type !== 'DisruptionTarget'), disruption];
  const own: [string, Verdict][] = [
    ...(hidden === undefined
      ? [[READY_TO_START, { status: facts.sandboxReady ? 'True' : 'False' }] satisfies [string, Verdict]]
      : []),
    ['Initialized', initialized(facts)],
    ['Ready', ready(facts, kept)],
    ['ContainersReady', containersReady(facts)],
    ['PodScheduled', met],
  ];
  const generation = facts.pod.metadata.generation;
  const observed = own.map(([type, verdict]) =>
    generation === undefined ? { type, ...verdict } : { type, observedGeneration: generation, ...verdict },
  );
  // This is the only condition to which upstream adds no generation.
  return [
    ...kept,
    ...observed,
    ...(couldRestartAll(facts.pod) ? [{ type: 'AllContainersRestarting', ...restartingAll(facts) }] : []),
  ];
}

function initialized(facts: ConditionFacts): Verdict {
  const init = facts.pod.spec.initContainers ?? [];
  const find = (name: string): ContainerStatus | undefined => facts.statuses.find((status) => status.name === name);
  const unknown = init.filter((container) => find(container.name) === undefined).map((container) => container.name);
  const incomplete = init
    .filter((container) => {
      const status = find(container.name);
      return status !== undefined && !(isRestartableInit(container) ? status.started === true : status.ready);
    })
    .map((container) => container.name);
  if (facts.phase === 'Succeeded' && unknown.length === 0)
    return { status: 'True', reason: podConditionReasons.podCompleted };
  const regularStarted = facts.pod.spec.containers.some((container) => {
    const state = find(container.name)?.state;
    return state?.running !== undefined || state?.terminated !== undefined;
  });
  // A pod stays initialized: a restart, in place or in a new sandbox, does not revert the condition.
  const wasInitialized = facts.previous.some(
    (condition) => condition.type === 'Initialized' && condition.status === 'True',
  );
  const message = problems(unknown, incomplete, 'incomplete');
  if (regularStarted || message === '' || wasInitialized) return met;
  return { status: 'False', reason: podConditionReasons.containersNotInitialized, message };
}

function containersReady(facts: ConditionFacts): Verdict {
  const names = [...(facts.pod.spec.initContainers ?? []).filter(isRestartableInit), ...facts.pod.spec.containers].map(
    (container) => container.name,
  );
  const unknown: string[] = [];
  const unready: string[] = [];
  for (const name of names) {
    const status = facts.statuses.find((candidate) => candidate.name === name);
    if (status === undefined) unknown.push(name);
    else if (!status.ready) unready.push(name);
  }
  if (facts.phase === 'Succeeded' && unknown.length === 0)
    return { status: 'False', reason: podConditionReasons.podCompleted };
  if (facts.phase === 'Failed') return { status: 'False', reason: podConditionReasons.podFailed };
  const message = problems(unknown, unready, 'unready');
  return message === '' ? met : { status: 'False', reason: podConditionReasons.containersNotReady, message };
}

function ready(facts: ConditionFacts, conditions: readonly PodCondition[]): Verdict {
  const containers = containersReady(facts);
  if (containers.status !== 'True') return containers;
  const gates = (facts.pod.spec.readinessGates ?? []).flatMap((gate) => {
    const condition = conditions.find((candidate) => candidate.type === gate.conditionType);
    if (condition === undefined)
      return [`corresponding condition of pod readiness gate "${gate.conditionType}" does not exist.`];
    if (condition.status === 'True') return [];
    return [`the status of pod readiness gate "${gate.conditionType}" is not "True", but ${condition.status}`];
  });
  return gates.length === 0
    ? met
    : { status: 'False', reason: podConditionReasons.readinessGatesNotReady, message: gates.join(', ') };
}

function restartingAll(facts: ConditionFacts): Verdict {
  if (facts.phase === 'Succeeded') return { status: 'False', reason: podConditionReasons.podCompleted };
  if (facts.phase === 'Failed') return { status: 'False', reason: podConditionReasons.podFailed };
  if (!facts.restartingAll) return { status: 'False' };
  return {
    status: 'True',
    reason: podConditionReasons.restartAllContainersStarted,
    message: 'container exited with restart policy rule',
  };
}

function couldRestartAll(pod: Pod): boolean {
  return [...(pod.spec.initContainers ?? []), ...pod.spec.containers].some((container) =>
    (container.restartPolicyRules ?? []).some((rule) => rule.action === 'RestartAllContainers'),
  );
}

function problems(unknown: readonly string[], bad: readonly string[], what: string): string {
  const parts: string[] = [];
  if (unknown.length > 0) parts.push(`containers with unknown status: [${unknown.join(' ')}]`);
  if (bad.length > 0) parts.push(`containers with ${what} status: [${bad.join(' ')}]`);
  return parts.join(', ');
}
