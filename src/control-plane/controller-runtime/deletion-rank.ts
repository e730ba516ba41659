import { ownValue } from '../../base/lookup.ts';
import type { Pod } from '../../api/core/pod.ts';
import { isRestartableInit } from '../../api/pod.ts';
import { parseTime } from '../../api/time.ts';
import { isPodActive, isPodReady, readySinceMs } from './pod-facts.ts';

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };
const NANOS_PER_MS = 1e6;

interface Ranked {
  readonly pod: Pod;
  readonly assigned: boolean;
  readonly phase: number;
  readonly ready: boolean;
  readonly cost: number;
  readonly onNode: number;
  readonly readySinceMs: number | undefined;
  readonly restarts: number;
  readonly sidecarRestarts: number;
  readonly createdMs: number | undefined;
}

/**
 * The pods in the order in which a controller deletes them (upstream: ActivePodsWithRanks). `related` are all pods of
 * the same workload: a pod that shares its node with more of them is deleted earlier. Ages are compared by powers of
 * two, and equal ones by uid, so that the newest pod is not always deleted first.
 */
export function rankForDeletion(pods: readonly Pod[], related: readonly Pod[], nowMs: number): Pod[] {
  const onNode = new Map<string, number>();
  for (const pod of related)
    if (isPodActive(pod)) onNode.set(pod.spec.nodeName ?? '', (onNode.get(pod.spec.nodeName ?? '') ?? 0) + 1);
  return pods
    .map((pod) => rank(pod, onNode.get(pod.spec.nodeName ?? '') ?? 0))
    .sort((left, right) => compare(left, right, nowMs))
    .map(({ pod }) => pod);
}

function rank(pod: Pod, onNode: number): Ranked {
  const sidecars = new Set((pod.spec.initContainers ?? []).filter(isRestartableInit).map(({ name }) => name));
  const most = (statuses: readonly { name: string; restartCount: number }[] | undefined): number =>
    Math.max(0, ...(statuses ?? []).map(({ restartCount }) => restartCount));
  return {
    pod,
    assigned: (pod.spec.nodeName ?? '') !== '',
    phase: ownValue(phaseOrder, pod.status?.phase ?? '') ?? 0,
    ready: isPodReady(pod),
    cost: deletionCost(pod),
    onNode,
    readySinceMs: readySinceMs(pod),
    restarts: most(pod.status?.containerStatuses),
    sidecarRestarts: most(pod.status?.initContainerStatuses?.filter(({ name }) => sidecars.has(name))),
    createdMs: parseTime(pod.metadata.creationTimestamp),
  };
}

/** A 32-bit integer; anything else counts as absent, because admission refuses it. */
function deletionCost({ metadata }: Pod): number {
  const text = metadata.annotations?.[DELETION_COST] ?? '';
  const cost = /^(0|-?[1-9][0-9]*)$/.test(text) ? Number(text) : 0;
  return Math.abs(cost) <= 2 ** 31 ? cost : 0;
}

function compare(left: Ranked, right: Ranked, nowMs: number): number {
  return (
    Number(left.assigned) - Number(right.assigned) ||
    left.phase - right.phase ||
    Number(left.ready) - Number(right.ready) ||
    left.cost - right.cost ||
    right.onNode - left.onNode ||
    (left.ready ? compareAges(left, right, 'readySinceMs', nowMs) : 0) ||
    right.restarts - left.restarts ||
    right.sidecarRestarts - left.sidecarRestarts ||
    compareAges(left, right, 'createdMs', nowMs)
  );
}

/** The most recent first; an unknown time counts as now. */
function compareAges(left: Ranked, right: Ranked, of: 'readySinceMs' | 'createdMs', nowMs: number): number {
  const leftMs = left[of];
  const rightMs = right[of];
  if (leftMs === rightMs) return 0;
  if (leftMs === undefined || rightMs === undefined) return leftMs === undefined ? -1 : 1;
  const byAge = ageBucket(leftMs, nowMs) - ageBucket(rightMs, nowMs);
  return byAge !== 0 ? byAge : left.pod.metadata.uid < right.pod.metadata.uid ? -1 : 1;
}

function ageBucket(sinceMs: number, nowMs: number): number {
  const ageNanos = (nowMs - sinceMs) * NANOS_PER_MS;
  return ageNanos > 0 ? Math.floor(Math.log2(ageNanos)) : -1;
}
