import { nodeLabels } from '../../../api/annotations.ts';
import type { Node, NodeCondition } from '../../../api/core/node.ts';

/** The conditions that a kubelet reports. Other components report the network's condition. */
const reported = ['Ready', 'MemoryPressure', 'DiskPressure', 'PIDPressure'];

/** Returns the conditions of a node whose heartbeats have stopped. */
export function unknownConditions(node: Node, nowText: string): NodeCondition[] {
  const before = node.status?.conditions ?? [];
  const changed = before.map(
    (condition): NodeCondition =>
      !reported.includes(condition.type) || condition.status === 'Unknown'
        ? condition
        : {
            ...condition,
            status: 'Unknown',
            reason: 'NodeStatusUnknown',
            message: 'Kubelet stopped posting node status.',
            lastTransitionTime: nowText,
          },
  );
  const missing = reported.filter((type) => !before.some((condition) => condition.type === type));
  const { creationTimestamp = nowText } = node.metadata;
  return [
    ...changed,
    ...missing.map(
      (type): NodeCondition => ({
        type,
        status: 'Unknown',
        reason: 'NodeStatusNeverUpdated',
        message: 'Kubelet never posted node status.',
        lastHeartbeatTime: creationTimestamp,
        lastTransitionTime: nowText,
      }),
    ),
  ];
}

export type ZoneState = 'normal' | 'partialDisruption' | 'fullDisruption';

/** Computes the state of a zone from its ready nodes (upstream: ComputeZoneState, --unhealthy-zone-threshold 0.55). */
export function zoneState(ready: number, notReady: number): ZoneState {
  if (ready === 0 && notReady > 0) return 'fullDisruption';
  return notReady > 2 && notReady / (ready + notReady) >= 0.55 ? 'partialDisruption' : 'normal';
}

/**
 * Returns the number of nodes per second that may be tainted for eviction. It is lower if a large part of the zone is
 * down, because then a network fault is more likely.
 */
export function evictionsPerSecond(state: ZoneState, nodesInZone: number): number {
  if (state === 'partialDisruption') return nodesInZone > 50 ? 0.01 : 0;
  return 0.1;
}

/** Returns the key of a node's zone: region and zone. */
export function zoneKey({ metadata }: Node): string {
  const { labels = {} } = metadata;
  return `${labels[nodeLabels.region] ?? ''}:${labels[nodeLabels.zone] ?? ''}`;
}
