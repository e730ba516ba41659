import { nodeLabels } from '../../../api/annotations.ts';
import type { Node } from '../../../api/core/node.ts';
import { quantityMilliValue } from '../../../api/quantity.ts';

/** The fraction of the CPUs of all nodes in each zone. The fractions add up to 1, and there are at least two zones. */
export type ZoneShares = ReadonlyMap<string, number>;

/** The labels of nodes on which no clients are expected. */
const excludingLabels = ['node-role.kubernetes.io/control-plane', 'node-role.kubernetes.io/master'];

/**
 * Computes the shares of the zones from the allocatable CPUs of their ready nodes. Returns undefined if there is only
 * one zone, or if a ready node has no zone or no CPU: then the traffic of the zones is unknown (upstream: TopologyCache
 * SetNodes).
 */
export function computeZoneShares(nodes: Iterable<Node>): ZoneShares | undefined {
  const cpus = new Map<string, number>();
  let total = 0;
  for (const node of nodes) {
    const { zone, milliCpus } = zoneFacts(node);
    if (milliCpus === undefined) continue;
    if (zone === '' || milliCpus <= 0) return undefined;
    cpus.set(zone, (cpus.get(zone) ?? 0) + milliCpus);
    total += milliCpus;
  }
  if (cpus.size < 2) return undefined;
  return new Map([...cpus].map(([zone, milliCpus]) => [zone, milliCpus / total]));
}

/** Returns zone and CPUs of a node. `milliCpus` is undefined if the node does not count. */
function zoneFacts({ metadata, status }: Node): { readonly zone: string; readonly milliCpus: number | undefined } {
  const { labels = {} } = metadata;
  const counts =
    !excludingLabels.some((label) => Object.hasOwn(labels, label)) &&
    status?.conditions?.find(({ type }) => type === 'Ready')?.status === 'True';
  return {
    zone: labels[nodeLabels.zone] ?? '',
    milliCpus: counts ? quantityMilliValue(status.allocatable?.['cpu'] ?? '0') : undefined,
  };
}

/** Whether a change of a node can change the shares. */
export function changesZoneShares(before: Node, after: Node): boolean {
  const [old, current] = [zoneFacts(before), zoneFacts(after)];
  return old.zone !== current.zone || old.milliCpus !== current.milliCpus;
}
