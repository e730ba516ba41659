import type { NumaMask, TopologyHint } from '../../model/topology-hints.ts';
import { countNodes, hintsOf } from '../../model/topology-hints.ts';
import type { PluginDevice } from '../../ports/device-plugins.ts';

/** The facts that determine from which NUMA nodes a request for devices can be met. */
export interface DeviceHintFacts {
  readonly count: number;
  /** All devices of the resource. */
  readonly devices: ReadonlyMap<string, PluginDevice>;
  /** Devices that must be used, such as those of the pod's init containers. */
  readonly mustUse: readonly string[];
  /** Devices that may be used in addition. */
  readonly free: readonly string[];
  /** The ids of the machine's NUMA nodes, sorted. The bits of a mask are positions in this list. */
  readonly nodeIds: readonly number[];
}

/**
 * Returns every set of NUMA nodes from which the request can be met. Preferred are the smallest sets that could ever
 * meet it (upstream: topology_hints.go generateDeviceTopologyHints). Undefined means that the devices have no topology,
 * so any set is suitable.
 */
export function computeDeviceHints(facts: DeviceHintFacts): readonly TopologyHint[] | undefined {
  const { count, devices, mustUse, free, nodeIds } = facts;
  const maskOf = maskReader(devices, nodeIds);
  const places = [...devices.keys()].map(maskOf).filter((mask) => mask !== 0);
  if (places.length === 0) return undefined;
  if (new Set([...mustUse, ...free]).size < count) return [];
  const must = mustUse.map(maskOf).filter((mask) => mask !== 0);
  const may = free.map(maskOf).filter((mask) => mask !== 0);
  const within = (masks: readonly NumaMask[], mask: NumaMask): number =>
    masks.filter((one) => (one & mask) !== 0).length;
  const least = leastNodes(nodeIds.length, (mask) => within(places, mask) >= count);
  return hintsOf(nodeIds.length, {
    least,
    serves: (mask) => within(must, mask) === must.length && must.length + within(may, mask) >= count,
  });
}

/** Creates a function that returns the NUMA mask of a device; 0 for a device without topology. */
function maskReader(devices: ReadonlyMap<string, PluginDevice>, nodeIds: readonly number[]): (id: string) => NumaMask {
  const positions = new Map(nodeIds.map((id, position) => [id, position]));
  return (id) =>
    (devices.get(id)?.numaNodes ?? []).reduce((mask, node) => {
      const position = positions.get(node);
      return position === undefined ? mask : mask | (1 << position);
    }, 0);
}

function leastNodes(nodes: number, isEnough: (mask: NumaMask) => boolean): number {
  let least = nodes;
  for (let mask = 1; mask < 2 ** nodes; mask += 1) {
    const size = countNodes(mask);
    if (size < least && isEnough(mask)) least = size;
  }
  return least;
}
