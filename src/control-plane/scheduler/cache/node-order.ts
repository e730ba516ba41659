import { nodeLabels } from '../../../api/annotations.ts';
import type { NodeInfo } from '../framework/node-info.ts';

const zoneLabels = [nodeLabels.zone, nodeLabels.betaZone];
const regionLabels = [nodeLabels.region, nodeLabels.betaRegion];

/** Returns the region and zone of a node as one text, or '' if the node has neither label. */
export function zoneOf({ labels }: NodeInfo): string {
  const first = (keys: readonly string[]): string =>
    keys.map((key) => labels[key]).find((value) => value !== undefined) ?? '';
  const region = first(regionLabels);
  const zone = first(zoneLabels);
  return region === '' && zone === '' ? '' : `${region}:\u0000:${zone}`;
}

/** Alternates between zones, so that the first nodes checked are not all in one zone (upstream: node_tree.go). */
export function orderByZones(nodes: Iterable<NodeInfo>): NodeInfo[] {
  const zones = new Map<string, NodeInfo[]>();
  for (const node of nodes) {
    const zone = zoneOf(node);
    const list = zones.get(zone);
    if (list === undefined) zones.set(zone, [node]);
    else list.push(node);
  }
  const lists = [...zones.values()];
  const ordered: NodeInfo[] = [];
  for (let turn = 0; lists.some((list) => turn < list.length); turn++) {
    for (const list of lists) {
      const node = list[turn];
      if (node !== undefined) ordered.push(node);
    }
  }
  return ordered;
}
