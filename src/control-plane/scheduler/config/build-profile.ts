import { createInterPodAffinity } from '../plugins/inter-pod-affinity.ts';
import { createNodeAffinity } from '../plugins/node-affinity.ts';
import { createNodeResourcesBalancedAllocation } from '../plugins/node-resources-balanced-allocation.ts';
import { createNodeResourcesFit } from '../plugins/node-resources-fit.ts';
import { createPodTopologySpread } from '../plugins/pod-topology-spread.ts';
import { dynamicResources } from '../plugins/dynamic-resources.ts';
import { imageLocality } from '../plugins/image-locality.ts';
import { nodeDeclaredFeatures } from '../plugins/node-declared-features.ts';
import { nodeName } from '../plugins/node-name.ts';
import { nodePorts } from '../plugins/node-ports.ts';
import { nodeUnschedulable } from '../plugins/node-unschedulable.ts';
import { nodeVolumeLimits } from '../plugins/node-volume-limits.ts';
import { schedulingGates } from '../plugins/scheduling-gates.ts';
import { taintToleration } from '../plugins/taint-toleration.ts';
import { volumeBinding } from '../plugins/volume-binding.ts';
import { volumeRestrictions } from '../plugins/volume-restrictions.ts';
import { volumeZone } from '../plugins/volume-zone.ts';
import { skip } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import type { PostFilterStep, Profile } from '../framework/profile.ts';
import type { ExtensionPoint, PluginsSource } from './config-schema.ts';
import type { PluginArgs } from './plugin-args.ts';
import type { PluginName } from './plugin-points.ts';
import { resolvePlugins } from './resolve-plugins.ts';

export interface ProfileSettings {
  readonly schedulerName: string;
  readonly percentageOfNodesToScore: number;
  readonly plugins: PluginsSource | undefined;
  readonly args: PluginArgs;
}

/** Undefined for what executors do: sorting the queue and binding. */
function createPlugin(name: PluginName, args: PluginArgs): Plugin | undefined {
  switch (name) {
    case 'SchedulingGates':
      return schedulingGates;
    case 'NodeUnschedulable':
      return nodeUnschedulable;
    case 'NodeName':
      return nodeName;
    case 'TaintToleration':
      return taintToleration;
    case 'NodeAffinity':
      return createNodeAffinity(args.NodeAffinity);
    case 'NodePorts':
      return nodePorts;
    case 'NodeResourcesFit':
      return createNodeResourcesFit(args.NodeResourcesFit);
    case 'VolumeRestrictions':
      return volumeRestrictions;
    case 'NodeVolumeLimits':
      return nodeVolumeLimits;
    case 'VolumeBinding':
      return volumeBinding;
    case 'VolumeZone':
      return volumeZone;
    case 'PodTopologySpread':
      return createPodTopologySpread(args.PodTopologySpread);
    case 'InterPodAffinity':
      return createInterPodAffinity(args.InterPodAffinity);
    case 'DynamicResources':
      return dynamicResources;
    case 'NodeResourcesBalancedAllocation':
      return createNodeResourcesBalancedAllocation(args.NodeResourcesBalancedAllocation);
    case 'ImageLocality':
      return imageLocality;
    case 'NodeDeclaredFeatures':
      return nodeDeclaredFeatures;
    case 'DefaultPreemption':
    case 'PrioritySort':
    case 'DefaultBinder':
      return undefined;
  }
}

export function buildProfile({
  schedulerName,
  percentageOfNodesToScore,
  plugins: source,
  args,
}: ProfileSettings): Profile {
  const enabled = resolvePlugins(source);
  const plugins = new Map<string, Plugin>();
  const pluginsAt = (point: ExtensionPoint): { plugin: Plugin; weight: number }[] =>
    enabled(point).flatMap(({ name, weight }) => {
      const plugin = plugins.get(name) ?? createPlugin(name, args);
      if (plugin === undefined) return [];
      plugins.set(name, plugin);
      return [{ plugin, weight }];
    });
  const filters = pluginsAt('filter').map(({ plugin }) => plugin);
  const prepareOnly = pluginsAt('preFilter').flatMap(({ plugin }) =>
    filters.includes(plugin) ? [] : [withoutFilter(plugin)],
  );
  const postFilters = enabled('postFilter').flatMap(({ name }): PostFilterStep[] => {
    if (name === 'DynamicResources') return [{ kind: 'dynamicResources' }];
    return name === 'DefaultPreemption' ? [{ kind: 'preemption', args: args.DefaultPreemption }] : [];
  });
  return {
    schedulerName,
    percentageOfNodesToScore,
    preEnqueue: pluginsAt('preEnqueue').map(({ plugin }) => plugin),
    filters: [...filters, ...prepareOnly],
    scores: pluginsAt('score').filter(({ plugin }) => plugin.preScore !== undefined),
    postFilters,
    plugins,
    deviceBindingTimeoutMs: args.DynamicResources.bindingTimeoutMs,
    volumeBindTimeoutMs: args.VolumeBinding.bindTimeoutMs,
  };
}

/** Its filter is disabled, but not what it says beforehand. */
function withoutFilter(plugin: Plugin): Plugin {
  return {
    ...plugin,
    preFilter: (pod, snapshot) => {
      const result = plugin.preFilter?.(pod, snapshot) ?? skip;
      return result.kind !== 'check' || result.nodeNames === undefined
        ? result.kind === 'check'
          ? skip
          : result
        : { ...result, check: { filter: () => undefined } };
    },
  };
}
