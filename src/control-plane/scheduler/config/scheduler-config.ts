import { decode, formatStrictErrors } from '../../../api/schema/decode.ts';
import { FieldErrors, formatFieldError } from '../../../api/validation/field-error.ts';
import type { Profile } from '../framework/profile.ts';
import { buildProfile } from './build-profile.ts';
import { argsSchemas, SchedulerConfigurationSchema } from './config-schema.ts';
import type { PluginWithArgs, ProfileSource, SchedulerConfigurationSource } from './config-schema.ts';
import { readArgs } from './plugin-args.ts';
import type { PluginArgs } from './plugin-args.ts';
import { isPluginName } from './plugin-points.ts';
import { validatePlugins } from './resolve-plugins.ts';

/** What the scheduler runs with. */
export interface SchedulerConfig {
  /** By scheduler name. Never empty. */
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
}

const SCHEDULER_CONFIG_API_VERSION = 'kubescheduler.config.k8s.io/v1';
export const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

/**
 * The configuration of a KubeSchedulerConfiguration as parsed from a file, or what is wrong with it. Fields that do not
 * exist are refused.
 */
export function readSchedulerConfig(
  input: unknown,
): { readonly config: SchedulerConfig } | { readonly errors: readonly string[] } {
  const { value, errors: unreadable } = decode(SchedulerConfigurationSchema, input, { mode: 'strict' });
  if (unreadable.length > 0) return { errors: [formatStrictErrors(unreadable)] };
  if (value.kind !== 'KubeSchedulerConfiguration' || value.apiVersion !== SCHEDULER_CONFIG_API_VERSION) {
    return {
      errors: [
        `no kind "${value.kind ?? ''}" is registered for version "${value.apiVersion ?? ''}"; expected KubeSchedulerConfiguration of ${SCHEDULER_CONFIG_API_VERSION}`,
      ],
    };
  }
  const errors = new FieldErrors();
  const config = toConfig(value, errors);
  return errors.list.length === 0 ? { config } : { errors: errors.list.map(formatFieldError) };
}

/** The default: one profile, `default-scheduler`. */
export function defaultSchedulerConfig(): SchedulerConfig {
  return toConfig({}, new FieldErrors());
}

function toConfig(source: SchedulerConfigurationSource, errors: FieldErrors): SchedulerConfig {
  const {
    parallelism = 16,
    podInitialBackoffSeconds = 1,
    podMaxBackoffSeconds = 10,
    percentageOfNodesToScore,
    profiles = [],
    extenders = [],
  } = source;
  if (parallelism <= 0) errors.invalid('parallelism', parallelism, 'should be an integer value greater than zero');
  validatePercentage(errors, 'percentageOfNodesToScore', percentageOfNodesToScore);
  if (podInitialBackoffSeconds <= 0)
    errors.invalid('podInitialBackoffSeconds', podInitialBackoffSeconds, 'must be greater than 0');
  if (podMaxBackoffSeconds < podInitialBackoffSeconds)
    errors.invalid(
      'podMaxBackoffSeconds',
      podMaxBackoffSeconds,
      'must be greater than or equal to PodInitialBackoffSeconds',
    );
  if (extenders.length > 0) errors.forbidden('extenders', 'extenders are not supported by this scheduler');
  const built = new Map<string, Profile>();
  const list: readonly ProfileSource[] = profiles.length === 0 ? [{}] : profiles;
  for (const [index, profile] of list.entries()) {
    const path = `profiles[${index}]`;
    // A name is made up only where there is nothing to mix it up with.
    const schedulerName = profile.schedulerName ?? (list.length === 1 ? DEFAULT_SCHEDULER_NAME : '');
    if (schedulerName === '') errors.required(`${path}.schedulerName`);
    else if (built.has(schedulerName)) errors.duplicate(`${path}.schedulerName`, schedulerName);
    validatePercentage(errors, `${path}.percentageOfNodesToScore`, profile.percentageOfNodesToScore);
    validatePlugins(errors, `${path}.plugins`, profile.plugins);
    const args = readAllArgs(errors, path, profile);
    built.set(
      schedulerName,
      buildProfile({
        schedulerName,
        percentageOfNodesToScore: profile.percentageOfNodesToScore ?? percentageOfNodesToScore ?? 0,
        plugins: profile.plugins,
        args,
      }),
    );
  }
  return {
    profiles: built,
    initialBackoffMs: podInitialBackoffSeconds * 1000,
    maxBackoffMs: podMaxBackoffSeconds * 1000,
  };
}

function validatePercentage(errors: FieldErrors, path: string, percentage: number | undefined): void {
  if (percentage !== undefined && (percentage < 0 || percentage > 100))
    errors.invalid(path, percentage, 'not in valid range [0-100]');
}

function readAllArgs(errors: FieldErrors, path: string, { pluginConfig = [] }: ProfileSource): PluginArgs {
  const given = new Map<string, { readonly at: string; readonly args: unknown }>();
  for (const [index, { name, args }] of pluginConfig.entries()) {
    const at = `${path}.pluginConfig[${index}]`;
    if (given.has(name)) errors.duplicate(at, name);
    if (!isPluginName(name)) errors.notFound(at, name, 'no such plugin');
    else if (args !== undefined && !Object.hasOwn(argsSchemas, name))
      errors.forbidden(`${at}.args`, `plugin ${name} takes no arguments`);
    given.set(name, { at: `${at}.args`, args });
  }
  const read = <Name extends PluginWithArgs>(name: Name): PluginArgs[Name] => readOne(errors, name, given.get(name));
  return {
    DefaultPreemption: read('DefaultPreemption'),
    DynamicResources: read('DynamicResources'),
    InterPodAffinity: read('InterPodAffinity'),
    NodeAffinity: read('NodeAffinity'),
    NodeResourcesBalancedAllocation: read('NodeResourcesBalancedAllocation'),
    NodeResourcesFit: read('NodeResourcesFit'),
    PodTopologySpread: read('PodTopologySpread'),
    VolumeBinding: read('VolumeBinding'),
  };
}

function readOne<Name extends PluginWithArgs>(
  errors: FieldErrors,
  name: Name,
  given: { readonly at: string; readonly args: unknown } | undefined,
): PluginArgs[Name] {
  const schema = argsSchemas[name];
  const { value, errors: unreadable } = decode(schema, given?.args ?? {}, { mode: 'strict' });
  const at = given?.at ?? name;
  if (unreadable.length > 0)
    errors.invalidHidden(at, `decoding args for plugin ${name}: ${formatStrictErrors(unreadable)}`);
  const { kind, apiVersion } = value as { readonly kind?: string; readonly apiVersion?: string };
  if (
    (kind ?? `${name}Args`) !== `${name}Args` ||
    (apiVersion ?? SCHEDULER_CONFIG_API_VERSION) !== SCHEDULER_CONFIG_API_VERSION
  ) {
    errors.invalidHidden(
      at,
      `args for plugin ${name} were not of type ${name}Args.kubescheduler.config.k8s.io, got ${kind ?? ''} of ${apiVersion ?? ''}`,
    );
  }
  // The schema and the reader of the same name belong together.
  const reader = readArgs[name] as (errors: FieldErrors, path: string, args: typeof value) => PluginArgs[Name];
  return reader(errors, at, value);
}
