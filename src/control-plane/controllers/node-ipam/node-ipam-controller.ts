import { nodes } from '../../../api/client/resource-types.ts';
import type { Node } from '../../../api/core/node.ts';
import { isApiError } from '../../../api/status/api-status-error.ts';
import type { Controller, ControllerOptions } from '../../controller-runtime/controller.ts';
import { createEventRecorder } from '../../controller-runtime/event-recorder.ts';
import { RateLimitingQueue } from '../../controller-runtime/rate-limiting-queue.ts';
import { runController } from '../../controller-runtime/run-controller.ts';
import { NodeRanges } from './node-ranges.ts';
import type { NodeRangeSettings } from './node-ranges.ts';

/** The number of concurrent syncs (upstream: cidrUpdateWorkers). */
const WORKERS = 30;

export interface NodeIpamOptions extends ControllerOptions {
  readonly ranges: NodeRangeSettings;
}

/**
 * Allocates ranges of pod addresses to nodes (upstream: nodeipam's rangeAllocator). Nodes for which no range is left
 * wait until another node is deleted.
 */
export function createNodeIpamController({ client, informers, clock, log, ranges }: NodeIpamOptions): Controller {
  const all = informers.for(nodes);
  const recorder = createEventRecorder({ client, clock, log, component: 'cidrAllocator' });
  const held = new NodeRanges(ranges);
  const waiting = new Set<string>();
  const sync = async (name: string): Promise<void> => {
    const node = all.get({ namespace: '', name });
    waiting.delete(name);
    if (node === undefined || rangesOf(node).length > 0) return;
    const { uid } = node.metadata;
    const cidrs = held.allocate(uid);
    if (cidrs === undefined) {
      waiting.add(name);
      log.warn('no range of pod addresses is left for a node; add a larger --cluster-cidr or delete nodes', {
        node: name,
      });
      recordStatus(node, 'CIDRNotAvailable');
      return;
    }
    try {
      await client.patch(
        nodes,
        { namespace: '', name },
        { type: 'strategic', body: { metadata: { uid }, spec: { podCIDR: cidrs[0], podCIDRs: cidrs } } },
      );
    } catch (error) {
      // The node was deleted or replaced meanwhile: its watch event releases the range.
      if (isApiError(error, 'NotFound', 'Conflict')) return;
      // Another range was written meanwhile; its watch event updates the state.
      if (!isApiError(error, 'Invalid', 'Forbidden')) throw error;
      held.release(uid);
      recordStatus(node, 'CIDRAssignmentFailed');
      throw error;
    }
  };
  const recordStatus = (node: Node, reason: string): void =>
    recorder.event(nodes, node, {
      type: 'Normal',
      reason,
      message: `Node ${node.metadata.name} status is now: ${reason}`,
    });
  const queue = new RateLimitingQueue({ name: 'node-ipam', clock, log, workers: WORKERS, sync });
  const consider = (node: Node): void => {
    const cidrs = rangesOf(node);
    if (cidrs.length === 0) return queue.add(node.metadata.name);
    const outside = held.occupy(node.metadata.uid, cidrs);
    if (outside.length > 0)
      log.warn('a node has a range that is not part of --cluster-cidr', { node: node.metadata.name, ranges: outside });
  };
  // The handlers see all nodes of the first list before the queue starts, so used ranges are occupied by then.
  const end = all.addHandlers({
    onAdd: consider,
    onUpdate: (before, after) => {
      if (rangesOf(before).join() !== rangesOf(after).join() || rangesOf(after).length === 0) consider(after);
    },
    onDelete: (node) => {
      held.release(node.metadata.uid);
      for (const name of waiting) queue.add(name);
    },
  });
  return runController({ name: 'node IPAM controller', log, queues: [queue], informers: [all], ends: [end] });
}

const rangesOf = ({ spec }: Node): readonly string[] =>
  (spec?.podCIDRs ?? []).length > 0 ? (spec?.podCIDRs ?? []) : spec?.podCIDR ? [spec.podCIDR] : [];
