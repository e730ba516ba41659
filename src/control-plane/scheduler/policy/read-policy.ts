import { decode, formatStrictErrors } from '../../../api/schema/decode.ts';
import { FieldErrors, formatFieldError } from '../../../api/validation/field-error.ts';
import { createPlugin } from '../config/build-profile.ts';
import type { PluginArgs } from '../config/plugin-args.ts';
import { readArgs } from '../config/plugin-args.ts';
import { builtinPlugins } from '../config/plugin-points.ts';
import type { PluginName } from '../config/plugin-points.ts';
import { readAllArgs } from '../config/read-all-args.ts';
import { DEFAULT_SCHEDULER_NAME, defaultSchedulerConfig } from '../config/scheduler-config.ts';
import type { ReadConfig, SchedulerConfig } from '../config/scheduler-config.ts';
import { policyExtender, readExtenders } from '../extenders/extender-config.ts';
import { defaultBinding } from '../framework/binding-plugin.ts';
import { everyEvent } from '../framework/cluster-event.ts';
import { EXTENDER_PLUGIN } from '../framework/extender.ts';
import type { Plugin } from '../framework/plugin.ts';
import type { Profile, WeightedPlugin } from '../framework/profile.ts';
import { createNodeResourcesFit } from '../plugins/node-resources-fit.ts';
import { nodePreferAvoidPods } from './avoid-pods.ts';
import { createNodeLabelFilter, createNodeLabelScore } from './node-label.ts';
import { PolicySchema } from './policy-schema.ts';
import type { PolicySource, PredicateSource, PrioritySource } from './policy-schema.ts';
import { mandatoryPlugins, predicatePlugins, priorityTargets } from './policy-tables.ts';
import { createServiceAffinity, createServiceAntiAffinity } from './service-affinity.ts';

/**
 * Reads a parsed Policy into a configuration or its errors (upstream up to 1.22: createFromPolicy). Without predicates
 * or priorities, the defaults apply; an empty list disables them.
 */
export function readPolicy(input: unknown, schedulerName = DEFAULT_SCHEDULER_NAME): ReadConfig {
  const { value, errors: unreadable } = decode(PolicySchema, input, { mode: 'strict' });
  if (unreadable.length > 0) return { errors: [formatStrictErrors(unreadable)] };
  if (value.kind !== 'Policy' || value.apiVersion !== 'v1') {
    const is = `no kind "${value.kind ?? ''}" is registered for version "${value.apiVersion ?? ''}"`;
    return { errors: [`${is}; expected Policy of v1`] };
  }
  const errors = new FieldErrors();
  const config = toConfig(value, errors, schedulerName);
  return errors.list.length === 0 ? { config } : { errors: errors.list.map(formatFieldError) };
}

function toConfig(source: PolicySource, errors: FieldErrors, schedulerName: string): SchedulerConfig {
  const extenders = readExtenders(
    errors,
    (source.extenders ?? []).map((each, index) => policyExtender(errors, `extenders[${index}]`, each)),
  );
  const args = argsOf(
    source,
    errors,
    extenders.flatMap((extender) => extender.ignoredResources),
  );
  const base = defaultSchedulerConfig();
  const standard = base.profiles.get(DEFAULT_SCHEDULER_NAME) as Profile;
  const made = new Map<string, Plugin>();
  const pluginOf = (name: PluginName): Plugin => {
    const plugin = made.get(name) ?? (createPlugin(name, args) as Plugin);
    made.set(name, plugin);
    return plugin;
  };
  const filters = readPredicates(source.predicates, errors, pluginOf);
  const scores = readPriorities(source.priorities, errors, { pluginOf, args });
  const plugins = new Map<string, Plugin>();
  const gates = [pluginOf('SchedulingGates'), pluginOf('DynamicResources')];
  for (const plugin of [...gates, ...filters, ...scores.map((score) => score.plugin)]) plugins.set(plugin.name, plugin);
  if (extenders.length > 0) plugins.set(EXTENDER_PLUGIN, { name: EXTENDER_PLUGIN, hints: everyEvent });
  const profile: Profile = {
    ...standard,
    schedulerName,
    preEnqueue: gates,
    filters,
    scores,
    binding: defaultBinding,
    plugins,
  };
  return { ...base, profiles: new Map([[schedulerName, profile]]), extenders };
}

function argsOf(
  { hardPodAffinitySymmetricWeight: hardWeight = 0 }: PolicySource,
  errors: FieldErrors,
  ignoredResources: readonly string[],
): PluginArgs {
  if (hardWeight < 0 || hardWeight > 100)
    errors.invalid('hardPodAffinitySymmetricWeight', hardWeight, 'not in valid range [0-100]');
  const standard = readAllArgs(errors, '', {}, { ignoredResources, isModule: () => false });
  const weight = { hardPodAffinityWeight: hardWeight === 0 ? 1 : hardWeight };
  return { ...standard, InterPodAffinity: { ...standard.InterPodAffinity, ...weight } };
}

/** Maps predicates to filter plugins. The filters run in the default order, whatever the order of the predicates. */
function readPredicates(
  sources: readonly PredicateSource[] | undefined,
  errors: FieldErrors,
  pluginOf: (name: PluginName) => Plugin,
): readonly Plugin[] {
  const wanted = new Set<PluginName>(mandatoryPlugins);
  const own: Plugin[] = [];
  const all = sources === undefined ? [...predicatePlugins.keys()].map((name): PredicateSource => ({ name })) : sources;
  for (const [index, { name, argument }] of all.entries()) {
    const path = `predicates[${index}]`;
    const { serviceAffinity, labelsPresence } = argument ?? {};
    if (serviceAffinity !== undefined && labelsPresence !== undefined)
      errors.invalidHidden(`${path}.argument`, 'exactly one predicate argument is required');
    else if (serviceAffinity !== undefined) own.push(createServiceAffinity(name, serviceAffinity.labels ?? []));
    else if (labelsPresence !== undefined) {
      const { labels = [], presence = false } = labelsPresence;
      own.push(createNodeLabelFilter(name, { labels, presence }));
    } else if (argument !== undefined) errors.required(`${path}.argument`, 'serviceAffinity or labelsPresence');
    else {
      const plugins = predicatePlugins.get(name);
      if (plugins === undefined)
        errors.notFound(`${path}.name`, name, unknownName('predicate', [...predicatePlugins.keys()]));
      for (const plugin of plugins ?? []) wanted.add(plugin);
    }
  }
  refuseTwins(errors, 'predicates', own);
  const builtin = builtinPlugins.flatMap(({ name, points }) =>
    wanted.has(name) && (points as readonly string[]).includes('filter') ? [pluginOf(name)] : [],
  );
  return [...builtin, ...own];
}

interface ScoreParts {
  readonly pluginOf: (name: PluginName) => Plugin;
  readonly args: PluginArgs;
}

function readPriorities(
  sources: readonly PrioritySource[] | undefined,
  errors: FieldErrors,
  parts: ScoreParts,
): readonly WeightedPlugin[] {
  if (sources === undefined)
    return builtinPlugins.flatMap((builtin) => {
      const isScore = (builtin.points as readonly string[]).includes('score') && 'weight' in builtin;
      const plugin = isScore ? parts.pluginOf(builtin.name) : undefined;
      return plugin?.preScore === undefined || !('weight' in builtin) ? [] : [{ plugin, weight: builtin.weight }];
    });
  const scores = new Map<string, WeightedPlugin>();
  const own: Plugin[] = [];
  for (const [index, source] of sources.entries()) {
    const path = `priorities[${index}]`;
    const { name, weight = 0 } = source;
    if (weight <= 0 || weight > 1_000_000)
      errors.invalid(`${path}.weight`, weight, `priority ${name} needs a weight in the range [1, 1000000]`);
    const plugin = priorityPlugin(source, errors, path, parts);
    if (plugin === undefined) continue;
    if (source.argument !== undefined) own.push(plugin);
    // Several priorities may map to one plugin. Their weights are added.
    scores.set(plugin.name, { plugin, weight: weight + (scores.get(plugin.name)?.weight ?? 0) });
  }
  refuseTwins(errors, 'priorities', own);
  return [...scores.values()];
}

function priorityPlugin(
  { name, argument }: PrioritySource,
  errors: FieldErrors,
  path: string,
  { pluginOf, args }: ScoreParts,
): Plugin | undefined {
  const { serviceAntiAffinity, labelPreference, requestedToCapacityRatioArguments: ratio } = argument ?? {};
  const given = [serviceAntiAffinity, labelPreference, ratio].filter((each) => each !== undefined);
  if (argument !== undefined && given.length !== 1) {
    errors.invalidHidden(`${path}.argument`, 'exactly one priority argument is required');
    return undefined;
  }
  if (serviceAntiAffinity !== undefined) return createServiceAntiAffinity(name, serviceAntiAffinity.label ?? '');
  if (labelPreference !== undefined)
    return createNodeLabelScore(name, labelPreference.label ?? '', labelPreference.presence ?? false);
  const target = ratio === undefined ? priorityTargets.get(name) : { strategy: 'RequestedToCapacityRatio' as const };
  if (target === undefined) {
    errors.notFound(`${path}.name`, name, unknownName('priority', [...priorityTargets.keys()]));
    return undefined;
  }
  if ('plugin' in target) return pluginOf(target.plugin);
  if ('kind' in target) return target.kind === 'avoidPods' ? nodePreferAvoidPods : undefined;
  const { strategy: type } = target;
  if (type === 'RequestedToCapacityRatio' && ratio === undefined) {
    errors.required(`${path}.argument`, 'requestedToCapacityRatioArguments with a shape');
    return undefined;
  }
  const fit = readArgs.NodeResourcesFit(errors, `${path}.argument.requestedToCapacityRatioArguments`, {
    scoringStrategy: {
      type,
      ...(ratio !== undefined && {
        requestedToCapacityRatio: { shape: ratio.shape ?? [] },
        ...(ratio.resources !== undefined && { resources: ratio.resources }),
      }),
    },
  });
  const plugin = createNodeResourcesFit({ ...args.NodeResourcesFit, ...fit });
  // Each strategy needs its own name, because several may be combined.
  return {
    name: ratio === undefined ? `NodeResources${type}` : name,
    ...(plugin.preScore && { preScore: plugin.preScore }),
  };
}

function refuseTwins(errors: FieldErrors, path: string, plugins: readonly Plugin[]): void {
  const seen = new Set<string>();
  for (const { name } of plugins) {
    if (seen.has(name)) errors.duplicate(path, name);
    seen.add(name);
  }
}

const unknownName = (what: string, known: readonly string[]): string =>
  `there is no such ${what}; there are ${known.join(', ')}, and those with an argument may have any name`;
