import type { NodeSelector, NodeSelectorRequirement } from '../../../api/core/scheduling.ts';
import type { DeviceClass } from '../../../api/resource/device-class.ts';
import type {
  AllocationResult,
  DeviceRequestAllocationResult,
  ResourceClaim,
} from '../../../api/resource/resource-claim.ts';
import { formatAmounts } from '../../../api/quota/amounts.ts';
import type { Picked } from './allocate-devices.ts';
import { shareIdOf } from './share-id.ts';
import { configOfClaim } from './device-needs.ts';
import type { DeviceNeed } from './device-needs.ts';

/** Builds the allocation for the status of a claim. */
export function allocationOf(
  claim: ResourceClaim,
  picks: readonly Picked[],
  { nodeName, classOf }: { readonly nodeName: string; readonly classOf: (name: string) => DeviceClass | undefined },
): AllocationResult {
  const results = picks.map(({ need, device, share }, index): DeviceRequestAllocationResult => {
    const { bindingConditions, bindingFailureConditions } = device.device;
    return {
      request: need.request,
      driver: device.driver,
      pool: device.pool,
      device: device.device.name,
      ...(need.adminAccess && { adminAccess: true }),
      ...(need.tolerations.length > 0 && { tolerations: [...need.tolerations] }),
      ...(bindingConditions !== undefined && { bindingConditions }),
      ...(bindingFailureConditions !== undefined && { bindingFailureConditions }),
      ...(share !== undefined && { shareID: shareIdOf(`${claim.metadata.uid}/${index}`) }),
      ...(share !== undefined && share.size > 0 && { consumedCapacity: formatAmounts(share) }),
    };
  });
  const chosen = new Map(picks.map(({ need }): [string, DeviceNeed] => [need.request, need]));
  const config = configOfClaim(claim, [...chosen.values()], classOf);
  const nodeSelector = nodesOf(picks, nodeName);
  return {
    devices: { results, ...(config.length > 0 && { config }) },
    ...(nodeSelector !== undefined && { nodeSelector }),
  };
}

/** Returns a selector of the nodes that reach all picked devices (upstream: allocator createNodeSelector). */
function nodesOf(picks: readonly Picked[], nodeName: string): NodeSelector | undefined {
  const expressions: NodeSelectorRequirement[] = [];
  const fields: NodeSelectorRequirement[] = [];
  for (const { device } of picks) {
    const isLocal = device.reach !== undefined && 'nodeName' in device.reach;
    if (isLocal || device.device.bindsToNode === true) {
      const local = { key: 'metadata.name', operator: 'In' as const, values: [nodeName] };
      return { nodeSelectorTerms: [{ matchFields: [local] }] };
    }
    if (device.reach === undefined || 'nodeName' in device.reach) continue;
    const [term] = device.reach.nodeSelector.nodeSelectorTerms;
    addNew(expressions, term?.matchExpressions);
    addNew(fields, term?.matchFields);
  }
  if (expressions.length === 0 && fields.length === 0) return undefined;
  return {
    nodeSelectorTerms: [
      {
        ...(expressions.length > 0 && { matchExpressions: expressions }),
        ...(fields.length > 0 && { matchFields: fields }),
      },
    ],
  };
}

function addNew(list: NodeSelectorRequirement[], more: readonly NodeSelectorRequirement[] = []): void {
  const known = new Set(list.map((each) => JSON.stringify(each)));
  for (const each of more) if (!known.has(JSON.stringify(each))) list.push(each);
}
