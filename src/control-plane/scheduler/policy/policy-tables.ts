import type { PluginName } from '../config/plugin-points.ts';

/**
 * The plugins that replace each predicate of a Policy (upstream: legacy_registry.go NewLegacyRegistry). Predicates of
 * node conditions became taints in 1.12. Volume limits of single clouds became limits of their CSI drivers.
 */
export const predicatePlugins: ReadonlyMap<string, readonly PluginName[]> = new Map<string, readonly PluginName[]>([
  ['PodFitsResources', ['NodeResourcesFit']],
  ['HostName', ['NodeName']],
  ['PodFitsHostPorts', ['NodePorts']],
  ['PodFitsPorts', ['NodePorts']],
  ['MatchNodeSelector', ['NodeAffinity']],
  ['GeneralPredicates', ['NodeResourcesFit', 'NodeName', 'NodePorts', 'NodeAffinity']],
  ['NoDiskConflict', ['VolumeRestrictions']],
  ['PodToleratesNodeTaints', ['TaintToleration']],
  ['PodToleratesNodeNoExecuteTaints', ['TaintToleration']],
  ['CheckNodeUnschedulable', ['NodeUnschedulable']],
  ['CheckNodeCondition', ['TaintToleration']],
  ['CheckNodeMemoryPressure', ['TaintToleration']],
  ['CheckNodeDiskPressure', ['TaintToleration']],
  ['CheckNodePIDPressure', ['TaintToleration']],
  ['CheckVolumeBinding', ['VolumeBinding']],
  ['NoVolumeZoneConflict', ['VolumeZone']],
  ['MaxCSIVolumeCountPred', ['NodeVolumeLimits']],
  ['MaxEBSVolumeCount', ['NodeVolumeLimits']],
  ['MaxGCEPDVolumeCount', ['NodeVolumeLimits']],
  ['MaxAzureDiskVolumeCount', ['NodeVolumeLimits']],
  ['MaxCinderVolumeCount', ['NodeVolumeLimits']],
  ['MatchInterPodAffinity', ['InterPodAffinity']],
  ['EvenPodsSpread', ['PodTopologySpread']],
]);

/** The plugins that run whatever the Policy says, because without them pods would be placed on unsuitable nodes. */
export const mandatoryPlugins: readonly PluginName[] = [
  'SchedulingGates',
  'NodeUnschedulable',
  'TaintToleration',
  'DynamicResources',
  'NodeDeclaredFeatures',
];

export type PriorityTarget =
  | { readonly plugin: PluginName }
  | { readonly strategy: 'LeastAllocated' | 'MostAllocated' | 'RequestedToCapacityRatio' }
  | { readonly kind: 'avoidPods' | 'nothing' };

/** The plugins that replace each priority of a Policy. PodTopologySpread spreads the pods of a Service by default. */
export const priorityTargets: ReadonlyMap<string, PriorityTarget> = new Map<string, PriorityTarget>([
  ['LeastRequestedPriority', { strategy: 'LeastAllocated' }],
  ['MostRequestedPriority', { strategy: 'MostAllocated' }],
  ['RequestedToCapacityRatioPriority', { strategy: 'RequestedToCapacityRatio' }],
  ['BalancedResourceAllocation', { plugin: 'NodeResourcesBalancedAllocation' }],
  ['SelectorSpreadPriority', { plugin: 'PodTopologySpread' }],
  ['ServiceSpreadingPriority', { plugin: 'PodTopologySpread' }],
  ['EvenPodsSpreadPriority', { plugin: 'PodTopologySpread' }],
  ['InterPodAffinityPriority', { plugin: 'InterPodAffinity' }],
  ['NodeAffinityPriority', { plugin: 'NodeAffinity' }],
  ['TaintTolerationPriority', { plugin: 'TaintToleration' }],
  ['ImageLocalityPriority', { plugin: 'ImageLocality' }],
  ['NodePreferAvoidPodsPriority', { kind: 'avoidPods' }],
  ['EqualPriority', { kind: 'nothing' }],
]);
