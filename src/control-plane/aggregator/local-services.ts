import type { APIService, APIServiceSpec } from '../../api/apiregistration/api-service.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';

/** The label that says whether and how this server manages an APIService (upstream: autoregister). */
export const AUTO_MANAGED_LABEL = 'kube-aggregator.kubernetes.io/automanaged';

/**
 * `onstart`: reconciled at each start. `true`: always reconciled. `absent`: created if missing, and then not changed.
 */
export type Management = 'onstart' | 'true' | 'absent';

export interface LocalService {
  readonly name: string;
  readonly management: Management;
  readonly spec: APIServiceSpec;
}

interface Priority {
  readonly group: number;
  readonly version: number;
}

/** Upstream's priorities, which determine the order of groups in discovery. */
const groupPriorities: ReadonlyMap<string, number> = new Map([
  ['', 18_000],
  ['apps', 17_800],
  ['events.k8s.io', 17_750],
  ['authentication.k8s.io', 17_700],
  ['authorization.k8s.io', 17_600],
  ['autoscaling', 17_500],
  ['batch', 17_400],
  ['certificates.k8s.io', 17_300],
  ['networking.k8s.io', 17_200],
  ['policy', 17_100],
  ['rbac.authorization.k8s.io', 17_000],
  ['storage.k8s.io', 16_800],
  ['apiextensions.k8s.io', 16_700],
  ['admissionregistration.k8s.io', 16_700],
  ['scheduling.k8s.io', 16_600],
  ['coordination.k8s.io', 16_500],
  ['node.k8s.io', 16_300],
  ['discovery.k8s.io', 16_200],
  ['flowcontrol.apiserver.k8s.io', 16_100],
  ['resource.k8s.io', 16_200],
  ['storagemigration.k8s.io', 15_800],
]);
/** Versions whose priority differs from the default. */
const versionPriorities: ReadonlyMap<string, number> = new Map([
  ['/v1', 1],
  ['autoscaling/v2', 30],
  ['flowcontrol.apiserver.k8s.io/v1', 21],
  ['resource.k8s.io/v1', 21],
]);
const STABLE_PRIORITY = 15;
const BETA_PRIORITY = 9;
const OTHER_GROUP = 1000;
const customPriority: Priority = { group: OTHER_GROUP, version: 100 };
/** As in metrics-server's manifest. */
const metricsPriority: Priority = { group: 100, version: 100 };

function priorityOf(group: string, version: string): Priority {
  return {
    group: groupPriorities.get(group) ?? OTHER_GROUP,
    version:
      versionPriorities.get(`${group}/${version}`) ?? (/beta|alpha/.test(version) ? BETA_PRIORITY : STABLE_PRIORITY),
  };
}

/** As in upstream, there is no APIService for apiregistration.k8s.io itself. */
const unregistered = new Set(['apiregistration.k8s.io']);

/** The APIServices of all APIs served here. */
export function localServices(definitions: readonly ResourceDefinition[]): ReadonlyMap<string, LocalService> {
  return withServices(new Map(), definitions);
}

/** Adds the APIServices of more definitions. Returns the same map if they need no others. */
export function withServices(
  known: ReadonlyMap<string, LocalService>,
  definitions: readonly ResourceDefinition[],
): ReadonlyMap<string, LocalService> {
  const found = new Map<string, LocalService>();
  for (const { type, isInternal, readBody } of definitions) {
    const { group, version } = type;
    const name = `${version}.${group}`;
    if (isInternal === true || unregistered.has(group) || known.has(name) || found.has(name)) continue;
    const isCustom = readBody !== undefined;
    const isMetrics = group === 'metrics.k8s.io';
    const priority = isCustom ? customPriority : isMetrics ? metricsPriority : priorityOf(group, version);
    found.set(name, {
      name,
      management: isCustom ? 'true' : isMetrics ? 'absent' : 'onstart',
      spec: {
        ...(group !== '' && { group }),
        version,
        groupPriorityMinimum: priority.group,
        versionPriority: priority.version,
      },
    });
  }
  return found.size === 0 ? known : new Map([...known, ...found]);
}

export type ServiceStep = 'create' | 'update' | 'delete' | 'none';

/**
 * Decides what to do about an APIService. One without the label belongs to the user. `atStart` is the first check by
 * this process (upstream: autoRegisterController.checkAPIService).
 */
export function planService(
  desired: LocalService | undefined,
  current: APIService | undefined,
  atStart: boolean,
): ServiceStep {
  const label = current?.metadata.labels?.[AUTO_MANAGED_LABEL];
  if (desired === undefined) {
    const isStale = label === 'true' || (label === 'onstart' && atStart);
    return current !== undefined && isStale && current.spec.service === undefined ? 'delete' : 'none';
  }
  // If a user deletes an APIService that is created at the start, it is not recreated until the next start.
  if (current === undefined) return desired.management === 'onstart' && !atStart ? 'none' : 'create';
  if (desired.management === 'absent' || label === undefined || label === '') return 'none';
  if (desired.management === 'onstart' && !atStart) return 'none';
  return label === desired.management && isSameSpec(desired.spec, current.spec) ? 'none' : 'update';
}

const fieldsOf = ({ group = '', version = '', service, groupPriorityMinimum, versionPriority }: APIServiceSpec) =>
  JSON.stringify([group, version, service ?? null, groupPriorityMinimum, versionPriority]);

const isSameSpec = (left: APIServiceSpec, right: APIServiceSpec): boolean => fieldsOf(left) === fieldsOf(right);
