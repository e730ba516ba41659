import { KubeletError } from '../../../base/errors.ts';
import type { KubeletConfig } from '../../model/config/kubelet-config.ts';
import type { MachineTopology } from '../../model/machine-topology.ts';
import type { HintProvider } from '../../model/topology-hints.ts';
import type { MergeFacts } from './merge-hints.ts';
import { parseTopologyOptions } from './topology-options.ts';
import type { TopologyManagerObserver } from './topology-manager.ts';
import { TopologyManager } from './topology-manager.ts';

export interface CreateTopologyManagerParts {
  readonly config: Pick<KubeletConfig, 'managers'>;
  readonly topology: MachineTopology;
  readonly providers: readonly HintProvider[];
  readonly observer: TopologyManagerObserver;
  readonly monotonicMs: () => number;
}

/**
 * Creates the topology manager. Throws `Invalid` if the machine cannot have the policy; as upstream, the agent does not
 * start then.
 */
export function createTopologyManager(parts: CreateTopologyManagerParts): TopologyManager {
  const { topology, topologyScope: scope, podLevel } = { ...parts, ...parts.config.managers };
  return new TopologyManager({ ...parts, scope, podLevel, merge: mergeFacts(parts.config.managers, topology) });
}

function mergeFacts(
  { topologyPolicy: policy, topologyOptions }: KubeletConfig['managers'],
  { nodes }: MachineTopology,
): MergeFacts | undefined {
  if (policy === 'none') return undefined;
  const options = parseTopologyOptions(topologyOptions);
  if (typeof options === 'string') throw new KubeletError('Invalid', options);
  if (nodes.length > options.mostNodes)
    throw new KubeletError('Invalid', `unsupported on machines with more than ${options.mostNodes} NUMA Nodes`);
  if (options.preferClosest && nodes.some(({ distances }) => distances.length < nodes.length))
    throw new KubeletError('Invalid', 'cannot discover NUMA topology: error getting NUMA distances');
  return {
    policy,
    nodes: nodes.length,
    distances: options.preferClosest ? nodes.map(({ distances }) => distances) : undefined,
  };
}
