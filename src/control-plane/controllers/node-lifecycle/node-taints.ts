import { lookupTable, ownValue } from '../../../base/lookup.ts';
import { nodeTaints } from '../../../api/annotations.ts';
import type { Node, NodeCondition, Taint } from '../../../api/core/node.ts';

const notReadyTaint = nodeTaints.notReady;
const unreachableTaint = nodeTaints.unreachable;
const unschedulableTaint = nodeTaints.unschedulable;

/** Which state of which condition keeps pods off a node, and by which taint. */
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
 * Taints that keep new pods away, by conditions and by being cordoned; other people's taints are left alone (upstream:
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
 * The taint that makes pods leave. Exchanging one for the other is nothing new for the pods; adding the first has to be
 * paced.
 */
export function evictionTaint(node: Node): EvictionTaint {
  const status = readyOf(node)?.status;
  const key = status === 'False' ? notReadyTaint : status === 'Unknown' ? unreachableTaint : undefined;
  const taints = node.spec?.taints ?? [];
  const has = (wanted: string): boolean => taints.some((taint) => taint.key === wanted && taint.effect === 'NoExecute');
  if (key === undefined || has(key)) return { kind: 'none' };
  return { kind: has(key === notReadyTaint ? unreachableTaint : notReadyTaint) ? 'swap' : 'add', key };
}

/** The taints with exactly this one of the two that make pods leave, or with none. */
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
