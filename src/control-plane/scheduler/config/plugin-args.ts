import { parseDurationMs } from '../../../api/duration.ts';
import type { FieldErrors } from '../../../api/validation/field-error.ts';
import { checkLabelKey } from '../../../api/validation/names.ts';
import { validateNodeSelector } from '../../../api/validation/pod/scheduling.ts';
import type { PreemptionArgs } from '../framework/profile.ts';
import type { InterPodAffinityArgs } from '../plugins/inter-pod-affinity.ts';
import type { NodeAffinityArgs } from '../plugins/node-affinity.ts';
import type { NodeResourcesFitArgs } from '../plugins/node-resources-fit.ts';
import type { PodTopologySpreadArgs } from '../plugins/pod-topology-spread.ts';
import { defaultScoredResources } from '../plugins/resource-scoring.ts';
import type { ResourceSpec, ScoringStrategy, ShapePoint } from '../plugins/resource-scoring.ts';
import type { ArgsSource, PluginWithArgs } from './config-schema.ts';

/** The arguments of all plugins, with defaults applied. */
export interface PluginArgs {
  readonly DefaultPreemption: PreemptionArgs;
  readonly DynamicResources: { readonly bindingTimeoutMs: number };
  readonly InterPodAffinity: InterPodAffinityArgs;
  readonly NodeAffinity: NodeAffinityArgs;
  readonly NodeResourcesBalancedAllocation: readonly ResourceSpec[];
  readonly NodeResourcesFit: NodeResourcesFitArgs;
  readonly PodTopologySpread: PodTopologySpreadArgs;
  readonly VolumeBinding: { readonly bindTimeoutMs: number };
}

type Readers = {
  readonly [Name in PluginWithArgs]: (errors: FieldErrors, path: string, args: ArgsSource<Name>) => PluginArgs[Name];
};

/**
 * Checks and defaults the arguments of a plugin (upstream: apis/config/validation/validation_pluginargs.go,
 * v1/defaults.go).
 */
export const readArgs: Readers = {
  DefaultPreemption: (errors, path, { minCandidateNodesPercentage = 10, minCandidateNodesAbsolute = 100 }) => {
    const percentagePath = `${path}.minCandidateNodesPercentage`;
    const absolutePath = `${path}.minCandidateNodesAbsolute`;
    if (minCandidateNodesPercentage < 0 || minCandidateNodesPercentage > 100)
      errors.invalid(percentagePath, minCandidateNodesPercentage, 'not in valid range [0, 100]');
    if (minCandidateNodesAbsolute < 0)
      errors.invalid(absolutePath, minCandidateNodesAbsolute, 'not in valid range [0, inf)');
    if (minCandidateNodesPercentage === 0 && minCandidateNodesAbsolute === 0) {
      errors.invalid(percentagePath, 0, 'cannot be zero at the same time as minCandidateNodesAbsolute');
      errors.invalid(absolutePath, 0, 'cannot be zero at the same time as minCandidateNodesPercentage');
    }
    return { minCandidateNodesPercentage, minCandidateNodesAbsolute };
  },
  DynamicResources: (errors, path, { filterTimeout = '10s', bindingTimeout = '10m' }) => {
    // The device search is limited by steps instead of time. So the timeout is validated and has no effect.
    if ((parseDurationMs(filterTimeout) ?? -1) < 0)
      errors.invalid(`${path}.filterTimeout`, filterTimeout, 'must be zero or positive');
    const bindingTimeoutMs = parseDurationMs(bindingTimeout) ?? 0;
    if (bindingTimeoutMs < 1000) errors.invalid(`${path}.bindingTimeout`, bindingTimeout, 'must be at least 1 second');
    return { bindingTimeoutMs };
  },
  InterPodAffinity: (errors, path, { hardPodAffinityWeight = 1, ignorePreferredTermsOfExistingPods = false }) => {
    if (hardPodAffinityWeight < 0 || hardPodAffinityWeight > 100)
      errors.invalid(`${path}.hardPodAffinityWeight`, hardPodAffinityWeight, 'not in valid range [0, 100]');
    return { hardPodAffinityWeight, ignorePreferredTermsOfExistingPods };
  },
  NodeAffinity: (errors, path, { addedAffinity }) => {
    const required = addedAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
    if (required !== undefined)
      validateNodeSelector(errors, `${path}.addedAffinity.requiredDuringSchedulingIgnoredDuringExecution`, required);
    return addedAffinity === undefined ? {} : { addedAffinity };
  },
  NodeResourcesBalancedAllocation: (errors, path, { resources = [] }) => {
    const seen = new Set<string>();
    for (const [index, { name, weight }] of resources.entries()) {
      if (seen.has(name)) errors.duplicate(`${path}.resources[${index}].name`, name);
      seen.add(name);
      if ((weight ?? 0) !== 0 && weight !== 1)
        errors.invalid(`${path}.resources[${index}].weight`, weight, 'must be 1');
    }
    return resourcesOrDefault(resources);
  },
  NodeResourcesFit: readFit,
  PodTopologySpread: readSpread,
  VolumeBinding: (errors, path, { bindTimeoutSeconds = 600, shape }) => {
    if (bindTimeoutSeconds < 0)
      errors.invalid(
        `${path}.bindTimeoutSeconds`,
        bindTimeoutSeconds,
        'invalid BindTimeoutSeconds, should not be a negative value',
      );
    if (shape !== undefined)
      errors.invalidHidden(
        `${path}.shape`,
        'unexpected field `shape`, remove it or turn on the feature gate StorageCapacityScoring',
      );
    return { bindTimeoutMs: bindTimeoutSeconds * 1000 };
  },
};

function resourcesOrDefault(
  resources: readonly { readonly name: string; readonly weight?: number }[],
): readonly ResourceSpec[] {
  if (resources.length === 0) return defaultScoredResources;
  return resources.map(({ name, weight }) => ({ name, weight: weight === undefined || weight === 0 ? 1 : weight }));
}

const strategies = ['LeastAllocated', 'MostAllocated', 'RequestedToCapacityRatio'] as const;

function readFit(errors: FieldErrors, path: string, source: ArgsSource<'NodeResourcesFit'>): NodeResourcesFitArgs {
  const { ignoredResources = [], ignoredResourceGroups = [], scoringStrategy = {} } = source;
  for (const [index, name] of ignoredResources.entries())
    errors.invalidEach(`${path}.ignoredResources[${index}]`, name, checkLabelKey(name));
  for (const [index, group] of ignoredResourceGroups.entries()) {
    if (group.includes('/'))
      errors.invalid(`${path}.ignoredResourceGroups[${index}]`, group, "resource group name can't contain '/'");
    errors.invalidEach(`${path}.ignoredResourceGroups[${index}]`, group, checkLabelKey(group));
  }
  const at = `${path}.scoringStrategy`;
  const resources = resourcesOrDefault(scoringStrategy.resources ?? []);
  for (const [index, { name, weight }] of resources.entries()) {
    if (weight <= 0 || weight > 100)
      errors.invalid(
        `${at}.resources[${index}].weight`,
        weight,
        `resource weight of ${name} not in valid range (0, 100]`,
      );
  }
  return {
    ignoredResources,
    ignoredResourceGroups,
    scoringStrategy: readStrategy(errors, at, scoringStrategy, resources),
  };
}

function readStrategy(
  errors: FieldErrors,
  at: string,
  source: NonNullable<ArgsSource<'NodeResourcesFit'>['scoringStrategy']>,
  resources: readonly ResourceSpec[],
): ScoringStrategy {
  const { requestedToCapacityRatio: ratio } = source;
  const type = source.type ?? (source.resources === undefined && ratio === undefined ? 'LeastAllocated' : '');
  const known = strategies.find((one) => one === type);
  if (known === undefined) errors.notSupported(`${at}.type`, type, strategies);
  if (known !== 'RequestedToCapacityRatio') {
    if (ratio !== undefined)
      errors.forbidden(`${at}.requestedToCapacityRatio`, 'must be nil when type is not RequestedToCapacityRatio');
    return { type: known ?? 'LeastAllocated', resources };
  }
  if (ratio === undefined)
    errors.required(`${at}.requestedToCapacityRatio`, 'must be specified when type is RequestedToCapacityRatio');
  else validateShape(errors, `${at}.requestedToCapacityRatio.shape`, ratio.shape ?? []);
  return { type: known, resources, shape: ratio?.shape ?? [] };
}

function validateShape(errors: FieldErrors, path: string, shape: readonly ShapePoint[]): void {
  if (shape.length === 0) return errors.required(path, 'at least one point must be specified');
  const falling = shape.findIndex(
    (point, index) => index > 0 && point.utilization <= (shape[index - 1]?.utilization ?? 0),
  );
  if (falling > 0)
    errors.invalid(
      `${path}[${falling}].utilization`,
      shape[falling]?.utilization,
      'values must be sorted in increasing order',
    );
  for (const [index, { utilization, score }] of shape.entries()) {
    if (utilization < 0 || utilization > 100)
      errors.invalid(`${path}[${index}].utilization`, utilization, 'not in valid range [0, 100]');
    if (score < 0 || score > 10) errors.invalid(`${path}[${index}].score`, score, 'not in valid range [0, 10]');
  }
}

function readSpread(
  errors: FieldErrors,
  path: string,
  { defaultConstraints = [], defaultingType = 'System' }: ArgsSource<'PodTopologySpread'>,
): PodTopologySpreadArgs {
  if (defaultingType !== 'System' && defaultingType !== 'List')
    errors.notSupported(`${path}.defaultingType`, defaultingType, ['System', 'List']);
  else if (defaultingType === 'System' && defaultConstraints.length > 0)
    errors.invalid(`${path}.defaultingType`, defaultingType, 'when .defaultConstraints are not empty');
  const seen = new Set<string>();
  for (const [index, { maxSkew, topologyKey, whenUnsatisfiable, labelSelector }] of defaultConstraints.entries()) {
    const at = `${path}.defaultConstraints[${index}]`;
    if (maxSkew <= 0) errors.invalid(`${at}.maxSkew`, maxSkew, 'not in valid range (0, inf)');
    if (topologyKey === '') errors.required(`${at}.topologyKey`, 'can not be empty');
    else errors.invalidEach(`${at}.topologyKey`, topologyKey, checkLabelKey(topologyKey));
    const action: string = whenUnsatisfiable;
    if (action === '') errors.required(`${at}.whenUnsatisfiable`, 'can not be empty');
    else errors.oneOf(`${at}.whenUnsatisfiable`, action, ['DoNotSchedule', 'ScheduleAnyway']);
    if (labelSelector !== undefined)
      errors.forbidden(`${at}.labelSelector`, 'constraint must not define a selector, as they deduced for each pod');
    const pair = `{${topologyKey}, ${whenUnsatisfiable}}`;
    if (seen.has(pair)) errors.duplicate(at, pair);
    seen.add(pair);
  }
  return { defaultConstraints, defaultingType: defaultingType === 'List' ? 'List' : 'System' };
}
