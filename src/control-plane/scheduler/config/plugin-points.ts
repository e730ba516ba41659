import type { ExtensionPoint } from './config-schema.ts';

/**
 * The built-in plugins in upstream's default order, the weight of their scores, and where each of them can be enabled.
 */
export const builtinPlugins = [
  { name: 'SchedulingGates', points: ['preEnqueue'] },
  { name: 'PrioritySort', points: ['queueSort'] },
  { name: 'NodeUnschedulable', points: ['filter'] },
  { name: 'NodeName', points: ['filter'] },
  { name: 'TaintToleration', points: ['filter', 'preScore', 'score'], weight: 3 },
  { name: 'NodeAffinity', points: ['preFilter', 'filter', 'preScore', 'score'], weight: 2 },
  { name: 'NodePorts', points: ['preFilter', 'filter'] },
  { name: 'NodeResourcesFit', points: ['preFilter', 'filter', 'preScore', 'score'], weight: 1 },
  { name: 'VolumeRestrictions', points: ['preFilter', 'filter'] },
  { name: 'NodeVolumeLimits', points: ['preFilter', 'filter'] },
  { name: 'VolumeBinding', points: ['preFilter', 'filter', 'reserve', 'preBind', 'preScore', 'score'] },
  { name: 'VolumeZone', points: ['preFilter', 'filter'] },
  { name: 'PodTopologySpread', points: ['preFilter', 'filter', 'preScore', 'score'], weight: 2 },
  { name: 'InterPodAffinity', points: ['preFilter', 'filter', 'preScore', 'score'], weight: 2 },
  {
    name: 'DynamicResources',
    points: ['preEnqueue', 'preFilter', 'filter', 'postFilter', 'reserve', 'preBind', 'score'],
    weight: 2,
  },
  { name: 'DefaultPreemption', points: ['preEnqueue', 'postFilter'] },
  { name: 'NodeResourcesBalancedAllocation', points: ['preScore', 'score'], weight: 1 },
  { name: 'ImageLocality', points: ['score'], weight: 1 },
  { name: 'DefaultBinder', points: ['bind'] },
  { name: 'NodeDeclaredFeatures', points: ['preFilter', 'filter'] },
] as const satisfies readonly {
  readonly name: string;
  readonly points: readonly ExtensionPoint[];
  readonly weight?: number;
}[];

export type PluginName = (typeof builtinPlugins)[number]['name'];

const pointsByName = new Map<string, readonly ExtensionPoint[]>(
  builtinPlugins.map(({ name, points }) => [name, points]),
);

export const isPluginName = (name: string): name is PluginName => pointsByName.has(name);
export const pointsOf = (name: PluginName): readonly ExtensionPoint[] => pointsByName.get(name) ?? [];
