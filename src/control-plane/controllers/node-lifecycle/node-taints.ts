import { lookupTable, ownValue } from '../../../base/lookup.ts';
import { nodeTaints } from '../../../api/annotations.ts';
import type { Node, NodeCondition, Taint } from '../../../api/core/node.ts';

const notReadyTaint = nodeTaints.notReady;
const unreachableTaint = nodeTaints.unreachable;
const unschedulableTaint = nodeTaints.unschedulable;

/** The taint for each condition and status. */
const byCondition: Readonly<Record<string, Readonly<Partial<Record<NodeCondition['status'], string>>>>> = lookupTable({
  Ready: { False: notReadyTaint, Unknown: unreachableTaint },
  MemoryPressure: { True: nodeTaints.memoryPressure },
  DiskPressure: { True: nodeTaints.diskPressure },
  NetworkUnavailable: { True: nodeTaints.networkUnavailable },
  PIDPressure: { True: nodeTaints.pidPressure },
});
const managed = new Set<string>([
  unschedulableTaint,
  ...Object.values(byCondition).flatMap((states) => Object.values(states)),
]);

export function readyOf(node: Node): NodeCondition | undefined {
  return node.status?.conditions?.find(({ type }) => type === 'Ready');
}

/**
 * Updates the NoSchedule taints for conditions and cordons; other taints are not changed (upstream:
 * doNoScheduleTaintingPass).
 */
export function withScheduleTaints(taints: readonly Taint[], node: Node, nowText: string): readonly Taint[] {
  const wanted = (node.status?.conditions ?? []).flatMap(
    ({ type, status }) => ownValue(byCondition[type], status) ?? [],
  );
  if (node.spec?.unschedulable === true) wanted.push(unschedulableTaint);
  const kept = taints.filter(({ key, effect }) => effect !== 'NoSchedule' || !managed.has(key) || wanted.includes(key));
  const added = wanted.filter((key) => !kept.some((taint) => taint.key === key && taint.effect === 'NoSchedule'));
  return added.length === 0 && kept.length === taints.length
    ? taints
    : [...kept, ...added.map((key): Taint => ({ key, effect: 'NoSchedule', timeAdded: nowText }))];
}

export type EvictionTaint = { readonly kind: 'none' } | { readonly kind: 'swap' | 'add'; readonly key: string };

/**
 * Returns the NoExecute taint of the node. Replacing one by the other does not affect pods; adding the first one is
 * rate-limited.
 */
export function evictionTaint(node: Node): EvictionTaint {
  const status = readyOf(node)?.status;
  const key = status === 'False' ? notReadyTaint : status === 'Unknown' ? unreachableTaint : undefined;
  const taints = node.spec?.taints ?? [];
  const has = (wanted: string): boolean => taints.some((taint) => taint.key === wanted && taint.effect === 'NoExecute');
  if (key === undefined || has(key)) return { kind: 'none' };
  return { kind: has(key === notReadyTaint ? unreachableTaint : notReadyTaint) ? 'swap' : 'add', key };
}

/** Returns the taints with exactly this one of the two NoExecute taints, or with none. */
export function withEvictionTaint(
  taints: readonly Taint[],
  key: string | undefined,
  nowText: string,
): readonly Taint[] {
  const others = taints.filter(
    (taint) => taint.effect !== 'NoExecute' || (taint.key !== notReadyTaint && taint.key !== unreachableTaint),
  );
  if (key !== undefined) {
    const there = taints.find((taint) => taint.key === key && taint.effect === 'NoExecute');
    return [...others, there ?? { key, effect: 'NoExecute', timeAdded: nowText }];
  }
  return others.length === taints.length ? taints : others;
}
