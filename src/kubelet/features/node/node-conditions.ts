import type { NodeCondition } from '../../../api/core/node.ts';
import { nodeConditionReasons } from '../../../api/reasons.ts';
import { formatTime } from '../../../api/time.ts';

/** The resources of which the node has too little. */
export interface Pressure {
  readonly memory: boolean;
  readonly disk: boolean;
  readonly pid: boolean;
}

export interface ConditionFacts {
  readonly nowMs: number;
  readonly pressure: Pressure;
  /** The reasons why the node is not ready, in upstream's order: runtime, network, storage, shutdown, capacities. */
  readonly problems: readonly string[];
  /** The conditions of the machine; empty if they are not reported. */
  readonly machine: readonly Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>[];
}

type Words = readonly [reason: string, message: string];
const pressures: readonly { type: string; of: keyof Pressure; short: Words; enough: Words }[] = [
  {
    type: 'MemoryPressure',
    of: 'memory',
    short: [nodeConditionReasons.kubeletHasInsufficientMemory, 'kubelet has insufficient memory available'],
    enough: [nodeConditionReasons.kubeletHasSufficientMemory, 'kubelet has sufficient memory available'],
  },
  {
    type: 'DiskPressure',
    of: 'disk',
    short: [nodeConditionReasons.kubeletHasDiskPressure, 'kubelet has disk pressure'],
    enough: [nodeConditionReasons.kubeletHasNoDiskPressure, 'kubelet has no disk pressure'],
  },
  {
    type: 'PIDPressure',
    of: 'pid',
    short: [nodeConditionReasons.kubeletHasInsufficientPID, 'kubelet has insufficient PID available'],
    enough: [nodeConditionReasons.kubeletHasSufficientPID, 'kubelet has sufficient PID available'],
  },
];

/**
 * Computes the conditions. The kubelet's own four are updated, other conditions stay, and each keeps its position. New
 * ones are appended, Ready last (upstream: nodestatus setters, which have the same texts).
 */
export function computeConditions(before: readonly NodeCondition[], facts: ConditionFacts): NodeCondition[] {
  const now = formatTime(facts.nowMs);
  const own = new Map<string, NodeCondition>();
  for (const { type, of, short, enough } of pressures) {
    const status = facts.pressure[of] ? 'True' : 'False';
    const old = before.find((condition) => condition.type === type);
    const [reason, message] = facts.pressure[of] ? short : enough;
    // A change by another client (for example, the node was marked unreachable) causes a new transition time.
    if (old?.status === status) own.set(type, { ...old, lastHeartbeatTime: now });
    else own.set(type, { type, status, lastHeartbeatTime: now, lastTransitionTime: now, reason, message });
  }
  for (const condition of facts.machine) {
    const old = before.find(({ type }) => type === condition.type);
    const lastTransitionTime = old?.status === condition.status ? (old.lastTransitionTime ?? now) : now;
    own.set(condition.type, { ...condition, lastHeartbeatTime: now, lastTransitionTime });
  }
  const ready = readyCondition(facts.problems);
  const oldReady = before.find(({ type }) => type === 'Ready');
  const lastTransitionTime = oldReady?.status === ready.status ? oldReady.lastTransitionTime : now;
  own.set('Ready', {
    type: 'Ready',
    ...ready,
    lastHeartbeatTime: now,
    ...(lastTransitionTime !== undefined && { lastTransitionTime }),
  });
  const kept = before.map((condition) => own.get(condition.type) ?? condition);
  return [...kept, ...[...own.values()].filter(({ type }) => !before.some((condition) => condition.type === type))];
}

function readyCondition(problems: readonly string[]): { status: 'True' | 'False'; reason: string; message: string } {
  if (problems.length === 0)
    return { status: 'True', reason: nodeConditionReasons.kubeletReady, message: 'kubelet is posting ready status' };
  return { status: 'False', reason: nodeConditionReasons.kubeletNotReady, message: aggregateMessage(problems) };
}

/** Joins messages as Go's error aggregates do: each once, in brackets if there are several. */
function aggregateMessage(problems: readonly string[]): string {
  const unique = [...new Set(problems)];
  return unique.length === 1 ? (unique[0] ?? '') : `[${unique.join(', ')}]`;
}
