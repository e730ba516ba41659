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
import type { BindingPlugin } from '../framework/binding-plugin.ts';
import { everyEvent } from '../framework/cluster-event.ts';
import { EXTENDER_PLUGIN } from '../framework/extender.ts';
import { skip } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import type { PostFilterStep, Profile } from '../framework/profile.ts';
import type { AdaptedModule } from '../modules/adapt-module.ts';
import type { ExtensionPoint, PluginsSource } from './config-schema.ts';
import type { PluginArgs } from './plugin-args.ts';
import { isPluginName } from './plugin-points.ts';
import type { PluginName } from './plugin-points.ts';
import { resolvePlugins } from './resolve-plugins.ts';
import type { ModulePoints } from './resolve-plugins.ts';

export interface ProfileSettings {
  readonly schedulerName: string;
  readonly percentageOfNodesToScore: number;
  readonly plugins: PluginsSource | undefined;
  readonly args: PluginArgs;
  /** The plugins from modules, by name. */
  readonly modules: ReadonlyMap<string, AdaptedModule>;
  /** Whether extenders are configured. Any event may help a pod that an extender rejected. */
  readonly hasExtenders: boolean;
}

/** Creates a built-in plugin. Returns undefined for QueueSort and Bind plugins, which executors implement. */
export function createPlugin(name: PluginName, args: PluginArgs): Plugin | undefined {
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
  modules,
  hasExtenders,
}: ProfileSettings): Profile {
  const enabled = resolvePlugins(source, pointsOfModules(modules));
  const plugins = new Map<string, Plugin>();
  const pluginsAt = (point: ExtensionPoint): { plugin: Plugin; weight: number }[] =>
    enabled(point).flatMap(({ name, weight }) => {
      const plugin = plugins.get(name) ?? modules.get(name)?.plugin ?? createBuiltin(name, args);
      if (plugin === undefined) return [];
      plugins.set(name, plugin);
      return [{ plugin, weight }];
    });
  if (hasExtenders) plugins.set(EXTENDER_PLUGIN, extenderPlugin);
  const filters = pluginsAt('filter').map(({ plugin }) => plugin);
  const prepareOnly = pluginsAt('preFilter').flatMap(({ plugin }) =>
    filters.includes(plugin) ? [] : [withoutFilter(plugin)],
  );
  const bindingAt = (point: ExtensionPoint): BindingPlugin[] =>
    enabled(point).flatMap(({ name }) => modules.get(name)?.binding ?? []);
  const postFilters = enabled('postFilter').flatMap(({ name }): PostFilterStep[] => {
    const module = modules.get(name);
    if (module !== undefined) return [{ kind: 'module', run: module.postFilter }];
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
    binding: {
      ...{ reserve: bindingAt('reserve'), permit: bindingAt('permit'), preBind: bindingAt('preBind') },
      bind: enabled('bind').flatMap(({ name }): (BindingPlugin | 'default')[] => {
        if (name === 'DefaultBinder') return ['default'];
        const module = modules.get(name);
        return module === undefined ? [] : [module.binding];
      }),
      postBind: bindingAt('postBind'),
    },
    plugins,
    deviceBindingTimeoutMs: args.DynamicResources.bindingTimeoutMs,
    volumeBindTimeoutMs: args.VolumeBinding.bindTimeoutMs,
  };
}

export const pointsOfModules = (modules: ReadonlyMap<string, AdaptedModule>): ModulePoints =>
  new Map([...modules].map(([name, { points }]) => [name, points]));

/** Supplies the hints for pods that extenders rejected. */
const extenderPlugin: Plugin = { name: EXTENDER_PLUGIN, hints: everyEvent };

const createBuiltin = (name: string, args: PluginArgs): Plugin | undefined =>
  isPluginName(name) ? createPlugin(name, args) : undefined;

/** Removes the filter of a plugin whose filter is disabled. Its preFilter can still reject pods. */
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
