import type { Node } from '../../../api/core/node.ts';
import { nodeEvents, type NodeEvent } from '../../../api/reasons.ts';

export interface NodeSaying {
  type: 'Normal' | 'Warning';
  reason: NodeEvent;
  message: string;
}

const conditionEvents: Readonly<Record<string, { True: NodeEvent; False: NodeEvent }>> = {
  MemoryPressure: { True: nodeEvents.nodeHasInsufficientMemory, False: nodeEvents.nodeHasSufficientMemory },
  DiskPressure: { True: nodeEvents.nodeHasDiskPressure, False: nodeEvents.nodeHasNoDiskPressure },
  PIDPressure: { True: nodeEvents.nodeHasInsufficientPID, False: nodeEvents.nodeHasSufficientPID },
  Ready: { True: nodeEvents.nodeReady, False: nodeEvents.nodeNotReady },
};

/**
 * What is worth an event between what the API server has and what is said now (upstream: the setters of nodestatus). A node that had no Ready
 * condition yet becomes ready without one, as upstream.
 */
export function computeNodeEvents(before: Node, after: Node): NodeSaying[] {
  const { name } = after.metadata;
  const said: NodeSaying[] = [];
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

export const schedulableEvent = (node: Node): NodeSaying =>
  statusEvent(
    node.metadata.name,
    node.spec?.unschedulable === true ? nodeEvents.nodeNotSchedulable : nodeEvents.nodeSchedulable,
  );

const statusEvent = (name: string, reason: NodeEvent): NodeSaying => ({
  type: 'Normal',
  reason,
  message: `Node ${name} status is now: ${reason}`,
});
