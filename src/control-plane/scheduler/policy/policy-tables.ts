import type { PluginName } from '../config/plugin-points.ts';

/**
 * Predicates of a Policy by the plugins that check the same (upstream: legacy_registry.go NewLegacyRegistry). Those of
 * conditions of nodes became taints in 1.12; limits of volumes of single clouds became those of their CSI drivers.
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

/** What a scheduler checks whatever a Policy says: a pod must not run where it must not. */
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

/** Priorities of a Policy. Spreading of a Service's pods is what PodTopologySpread does by default. */
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
