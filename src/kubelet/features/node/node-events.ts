import { lookupTable } from '../../../base/lookup.ts';
import type { Node } from '../../../api/core/node.ts';
import type { NodeEvent } from '../../../api/reasons.ts';
import { nodeEvents } from '../../../api/reasons.ts';

export interface NodeEventMessage {
  readonly type: 'Normal' | 'Warning';
  readonly reason: NodeEvent;
  readonly message: string;
}

const conditionEvents: Readonly<Record<string, { True: NodeEvent; False: NodeEvent }>> = lookupTable({
  MemoryPressure: { True: nodeEvents.nodeHasInsufficientMemory, False: nodeEvents.nodeHasSufficientMemory },
  DiskPressure: { True: nodeEvents.nodeHasDiskPressure, False: nodeEvents.nodeHasNoDiskPressure },
  PIDPressure: { True: nodeEvents.nodeHasInsufficientPID, False: nodeEvents.nodeHasSufficientPID },
  Ready: { True: nodeEvents.nodeReady, False: nodeEvents.nodeNotReady },
});

/**
 * Computes the events for the differences between the API server's node and the new status (upstream: the setters of
 * nodestatus). As upstream, a node without a Ready condition becomes ready without an event.
 */
export function computeNodeEvents(before: Node, after: Node): NodeEventMessage[] {
  const { name } = after.metadata;
  const said: NodeEventMessage[] = [];
  const bootId = after.status?.nodeInfo?.bootID ?? '';
  const lastBootId = before.status?.nodeInfo?.bootID ?? '';
  if (lastBootId !== '' && lastBootId !== bootId)
    said.push({
      type: 'Warning',
      reason: nodeEvents.rebooted,
      message: `Node ${name} has been rebooted, boot id: ${bootId}`,
    });
  for (const { type, status } of after.status?.conditions ?? []) {
    const events = conditionEvents[type];
    const old = before.status?.conditions?.find((condition) => condition.type === type)?.status;
    if (events === undefined || status === 'Unknown' || old === status || (type === 'Ready' && old === undefined))
      continue;
    said.push(statusEvent(name, events[status]));
  }
  return said;
}

export const schedulableEvent = (node: Node): NodeEventMessage =>
  statusEvent(
    node.metadata.name,
    node.spec?.unschedulable === true ? nodeEvents.nodeNotSchedulable : nodeEvents.nodeSchedulable,
  );

const statusEvent = (name: string, reason: NodeEvent): NodeEventMessage => ({
  type: 'Normal',
  reason,
  message: `Node ${name} status is now: ${reason}`,
});
