import { parseDurationMs } from '../../../api/duration.ts';
import { decode, formatStrictErrors } from '../../../api/schema/decode.ts';
import { FieldErrors, formatFieldError } from '../../../api/validation/field-error.ts';
import { readExtenders } from '../extenders/extender-config.ts';
import type { ExtenderSettings } from '../framework/extender.ts';
import type { Profile } from '../framework/profile.ts';
import type { PodOrder } from '../queue/queued-pod.ts';
import { buildProfile, pointsOfModules } from './build-profile.ts';
import { SchedulerConfigurationSchema } from './config-schema.ts';
import type { ProfileSource, SchedulerConfigurationSource } from './config-schema.ts';
import { adaptModules, noModules } from './profile-modules.ts';
import type { LoadedModules } from './profile-modules.ts';
import { readAllArgs, SCHEDULER_CONFIG_API_VERSION } from './read-all-args.ts';
import { resolvePlugins, validatePlugins } from './resolve-plugins.ts';

/** The leader election among several scheduler processes. */
export interface SchedulerElection {
  readonly enabled: boolean;
  readonly leaseMs: number;
  readonly renewMs: number;
  readonly retryMs: number;
  readonly name: string;
  readonly namespace: string;
}

/** The configuration of the scheduler with defaults applied. */
export interface SchedulerConfig {
  /** The profiles by scheduler name. There is at least one. */
  readonly profiles: ReadonlyMap<string, Profile>;
  readonly initialBackoffMs: number;
  readonly maxBackoffMs: number;
  readonly extenders: readonly ExtenderSettings[];
  /** The queue order of a plugin from a module, if one is enabled. */
  readonly goesBefore?: PodOrder;
  readonly election: SchedulerElection;
  /** The path in `clientConnection.kubeconfig`, for a scheduler that runs as a separate process. */
  readonly kubeconfig?: string;
}

export const DEFAULT_SCHEDULER_NAME = 'default-scheduler';

export type ReadConfig = { readonly config: SchedulerConfig } | { readonly errors: readonly string[] };

/** Reads a parsed KubeSchedulerConfiguration. Returns the configuration or its errors. Unknown fields are errors. */
export function readSchedulerConfig(input: unknown, modules: LoadedModules = noModules): ReadConfig {
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
  const config = toConfig(value, errors, modules);
  return errors.list.length === 0 ? { config } : { errors: errors.list.map(formatFieldError) };
}

/** Returns the default configuration: one profile, `default-scheduler`. */
export function defaultSchedulerConfig(): SchedulerConfig {
  return toConfig({}, new FieldErrors(), noModules);
}

function toConfig(source: SchedulerConfigurationSource, errors: FieldErrors, modules: LoadedModules): SchedulerConfig {
  const {
    parallelism = 16,
    podInitialBackoffSeconds = 1,
    podMaxBackoffSeconds = 10,
    percentageOfNodesToScore,
    profiles = [],
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
  const extenders = readExtenders(errors, source.extenders ?? []);
  const { built, order } = readProfiles(errors, {
    list: profiles.length === 0 ? [{}] : profiles,
    modules,
    extenders,
    percentageOfNodesToScore: percentageOfNodesToScore ?? 0,
  });
  const { kubeconfig = '' } = source.clientConnection ?? {};
  return {
    profiles: built,
    initialBackoffMs: podInitialBackoffSeconds * 1000,
    maxBackoffMs: podMaxBackoffSeconds * 1000,
    extenders,
    ...(order !== undefined && { goesBefore: order }),
    election: readElection(errors, source),
    ...(kubeconfig !== '' && { kubeconfig }),
  };
}

interface ProfilesSource {
  readonly list: readonly ProfileSource[];
  readonly modules: LoadedModules;
  readonly extenders: SchedulerConfig['extenders'];
  /** The default for profiles that do not set this field. */
  readonly percentageOfNodesToScore: number;
}

/** Reads all profiles. They share one queue, so they must use the same queue sort plugin. */
function readProfiles(
  errors: FieldErrors,
  { list, modules, extenders, percentageOfNodesToScore }: ProfilesSource,
): { readonly built: ReadonlyMap<string, Profile>; readonly order: PodOrder | undefined } {
  const ignoredResources = extenders.flatMap((extender) => extender.ignoredResources);
  const built = new Map<string, Profile>();
  const orders: { readonly name: string; readonly order: PodOrder | undefined }[] = [];
  for (const [index, profile] of list.entries()) {
    const path = `profiles[${index}]`;
    // Only a single profile may leave out its name.
    const schedulerName = profile.schedulerName ?? (list.length === 1 ? DEFAULT_SCHEDULER_NAME : '');
    if (schedulerName === '') errors.required(`${path}.schedulerName`);
    else if (built.has(schedulerName)) errors.duplicate(`${path}.schedulerName`, schedulerName);
    validatePercentage(errors, `${path}.percentageOfNodesToScore`, profile.percentageOfNodesToScore);
    const adapted = adaptModules(errors, path, profile, modules);
    const points = pointsOfModules(adapted);
    validatePlugins(errors, `${path}.plugins`, profile.plugins, points);
    const [sort] = resolvePlugins(profile.plugins, points)('queueSort');
    orders.push({ name: sort?.name ?? '', order: adapted.get(sort?.name ?? '')?.order });
    if (orders[0]?.name !== sort?.name)
      errors.invalid(`${path}.plugins.queueSort`, sort?.name ?? '', 'must be the same in all profiles');
    built.set(
      schedulerName,
      buildProfile({
        schedulerName,
        percentageOfNodesToScore: profile.percentageOfNodesToScore ?? percentageOfNodesToScore,
        plugins: profile.plugins,
        args: readAllArgs(errors, path, profile, { ignoredResources, isModule: (name) => adapted.has(name) }),
        modules: adapted,
        hasExtenders: extenders.length > 0,
      }),
    );
  }
  return { built, order: orders[0]?.order };
}

function validatePercentage(errors: FieldErrors, path: string, percentage: number | undefined): void {
  if (percentage !== undefined && (percentage < 0 || percentage > 100))
    errors.invalid(path, percentage, 'not in valid range [0-100]');
}

/** Upstream: ValidateLeaderElectionConfiguration. */
function readElection(errors: FieldErrors, { leaderElection = {} }: SchedulerConfigurationSource): SchedulerElection {
  const {
    leaderElect = true,
    leaseDuration = '15s',
    renewDeadline = '10s',
    retryPeriod = '2s',
    resourceLock = 'leases',
    resourceName = 'kube-scheduler',
    resourceNamespace = 'kube-system',
  } = leaderElection;
  const ms = (name: string, text: string): number => {
    const value = parseDurationMs(text) ?? 0;
    if (value <= 0) errors.invalid(`leaderElection.${name}`, text, 'must be greater than zero');
    return value;
  };
  const leaseMs = ms('leaseDuration', leaseDuration);
  const renewMs = ms('renewDeadline', renewDeadline);
  const retryMs = ms('retryPeriod', retryPeriod);
  if (leaderElect && leaseMs <= renewMs)
    errors.invalid('leaderElection.leaseDuration', leaseDuration, 'LeaseDuration must be greater than RenewDeadline');
  if (leaderElect && renewMs <= retryMs)
    errors.invalid('leaderElection.renewDeadline', renewDeadline, 'RenewDeadline must be greater than RetryPeriod');
  if (resourceLock !== 'leases')
    errors.invalid('leaderElection.resourceLock', resourceLock, 'resourceLock value must be "leases"');
  if (resourceName === '') errors.required('leaderElection.resourceName');
  if (resourceNamespace === '') errors.required('leaderElection.resourceNamespace');
  return { enabled: leaderElect, leaseMs, renewMs, retryMs, name: resourceName, namespace: resourceNamespace };
}
