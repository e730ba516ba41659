import { compareVersions } from '../../../api/compare-versions.ts';
import { createHash } from 'node:crypto';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import type { ApiBackend, ApiBackends, BackendResource } from '../../model/api-backends.ts';
import type { ServedResource, ServedSubresource } from '../path/served-resource.ts';

/** One line of an APIResourceList. */
export interface ApiResource extends BackendResource {
  readonly storageVersionHash?: string;
}

export interface GroupVersion {
  readonly group: string;
  readonly version: string;
  readonly resources: readonly ServedResource[];
  /** The server that serves the version, if it is another one. */
  readonly backend?: ApiBackend;
}

/** The order of groups as in upstream. Clients resolve short names in this order. Other groups follow by name. */
const groupOrder = [
  'apiregistration.k8s.io',
  'apps',
  'events.k8s.io',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'networking.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'storage.k8s.io',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'scheduling.k8s.io',
  'coordination.k8s.io',
  'node.k8s.io',
  'discovery.k8s.io',
  'resource.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'storagemigration.k8s.io',
];

/** The priority of custom kinds (upstream: crdregistration). */
const CUSTOM_PRIORITY = 1000;
/** The priority of a version that this server serves, compared with those of other servers. */
const LOCAL_VERSION_PRIORITY = 100;

/**
 * Returns all groups with their versions, in order. A version of another server hides a local version with the same
 * name.
 */
export function groupsOf(
  resources: readonly ServedResource[],
  { all: backends }: Pick<ApiBackends, 'all'>,
): ReadonlyMap<string, readonly GroupVersion[]> {
  const remote = new Map(backends.map((each) => [`${each.group}/${each.version}`, each]));
  const groups = new Map<string, Map<string, ServedResource[]>>();
  for (const resource of resources) {
    const { group, version } = resource.definition.type;
    const versions = groups.get(group) ?? new Map<string, ServedResource[]>();
    groups.set(group, versions);
    versions.set(version, [...(versions.get(version) ?? []), resource]);
  }
  const first = new Map<string, number>();
  for (const { group, version, groupPriority } of backends) {
    const versions = groups.get(group) ?? new Map<string, ServedResource[]>();
    groups.set(group, versions);
    versions.set(version, []);
    first.set(group, Math.max(groupPriority, first.get(group) ?? 0));
  }
  // Groups of other servers come after the built-in ones, before or after those of custom kinds.
  const rank = (group: string): number => {
    const at = groupOrder.indexOf(group);
    return at < 0 ? groupOrder.length + CUSTOM_PRIORITY / (first.get(group) ?? CUSTOM_PRIORITY) : at;
  };
  const versionPriority = (group: string, version: string): number =>
    remote.get(`${group}/${version}`)?.versionPriority ?? LOCAL_VERSION_PRIORITY;
  const names = [...groups.keys()].sort((left, right) => rank(left) - rank(right) || (left < right ? -1 : 1));
  return new Map(
    names.map((group) => [
      group,
      [...(groups.get(group) ?? [])]
        .sort(
          ([left], [right]) =>
            versionPriority(group, right) - versionPriority(group, left) || compareVersions(left, right),
        )
        .map(([version, found]) => {
          const backend = remote.get(`${group}/${version}`);
          return { group, version, resources: byName(found), ...(backend !== undefined && { backend }) };
        }),
    ]),
  );
}

const byName = (resources: readonly ServedResource[]): readonly ServedResource[] =>
  [...resources].sort((left, right) => (left.definition.type.plural < right.definition.type.plural ? -1 : 1));

export function apiResources({ resources }: GroupVersion): readonly ApiResource[] {
  return resources.flatMap((resource) => [
    describe(resource),
    ...[...resource.subresources.values()].sort(bySubresource).map((each) => describeSubresource(resource, each)),
  ]);
}

export const bySubresource = (left: ServedSubresource, right: ServedSubresource): number =>
  left.name < right.name ? -1 : 1;

function describe({ definition, announcedVerbs }: ServedResource): ApiResource {
  const { type, singular, shortNames, categories, review, storagePath } = definition;
  return {
    name: type.plural,
    singularName: singular,
    namespaced: type.namespaced,
    kind: type.kind,
    verbs: announcedVerbs,
    ...(shortNames !== undefined && { shortNames }),
    ...(categories !== undefined && { categories }),
    ...(review === undefined &&
      storagePath !== '' && { storageVersionHash: storageVersionHash(storedType(definition)) }),
  };
}

function describeSubresource(
  { definition }: ServedResource,
  { name, verbs, responseKind }: ServedSubresource,
): ApiResource {
  const { type } = definition;
  const isOther = responseKind.group !== type.group || responseKind.version !== type.version;
  return {
    name: `${type.plural}/${name}`,
    singularName: '',
    namespaced: type.namespaced,
    ...(isOther && { group: responseKind.group, version: responseKind.version }),
    kind: responseKind.kind,
    verbs,
  };
}

function storedType({ type, storedAs }: ServedResource['definition']): Parameters<typeof storageVersionHash>[0] {
  if (storedAs === undefined) return type;
  return storedAs.version === undefined ? storedAs.stored : { ...storedAs.stored, version: storedAs.version };
}

/** Returns a hash that shows clients whether two resources are stored as the same kind. */
function storageVersionHash({
  group,
  version,
  kind,
}: {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}): string {
  return createHash('sha256').update(`${group}/${version}/${kind}`).digest().subarray(0, 8).toString('base64');
}

export const groupVersionOf = ({ group, version }: GroupVersion): { groupVersion: string; version: string } => ({
  groupVersion: apiVersionOf({ group, version }),
  version,
});
