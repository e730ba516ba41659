import type { ApiBackend, BackendResource } from '../../model/api-backends.ts';
import type { ServedResource } from '../path/served-resource.ts';
import { bySubresource } from './describe.ts';
import type { GroupVersion } from './describe.ts';

export type AggregatedVersion = 'v2' | 'v2beta1';

/** Describes all of an API's groups in one document (apidiscovery.k8s.io APIGroupDiscoveryList). */
export function aggregatedDiscovery(
  groups: ReadonlyMap<string, readonly GroupVersion[]>,
  version: AggregatedVersion,
): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: [...groups].map(([group, versions]) => ({
      metadata: { ...(group !== '' && { name: group }) },
      versions: versions.map((each) => ({
        version: each.version,
        resources: each.backend === undefined ? each.resources.map(describe) : describeBackend(each.backend),
        // The last discovery of an unavailable server is still shown.
        freshness: each.backend?.isAvailable === false ? 'Stale' : 'Current',
      })),
    })),
  };
}

function describe({ definition, announcedVerbs, subresources }: ServedResource): object {
  const { type, singular, shortNames, categories } = definition;
  const listed = [...subresources.values()].sort(bySubresource);
  const isCustom = definition.readBody !== undefined;
  return {
    resource: type.plural,
    // Upstream's document of a custom kind repeats its group and version.
    responseKind: isCustom ? kindOnly(type) : responseKind(type, type),
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs: announcedVerbs,
    ...(shortNames !== undefined && { shortNames }),
    ...(categories !== undefined && { categories }),
    ...(listed.length > 0 && {
      subresources: listed.map((each) => ({
        subresource: each.name,
        responseKind: isCustom ? kindOnly(each.responseKind) : responseKind(each.responseKind, type),
        verbs: each.verbs,
      })),
    }),
  };
}

/** Describes the server's resource list, in which subresources are separate entries. */
function describeBackend({ group, version, resources = [] }: ApiBackend): readonly object[] {
  const kindOf = (each: BackendResource): object =>
    responseKind(
      { group: each.group ?? group, version: each.version ?? version, kind: each.kind },
      { group, version, kind: each.kind },
    );
  const subresources = new Map<string, object[]>();
  for (const each of resources) {
    const [resource = '', subresource] = each.name.split('/', 2);
    if (subresource === undefined) continue;
    const listed = subresources.get(resource) ?? [];
    subresources.set(resource, listed);
    listed.push({ subresource, responseKind: kindOf(each), verbs: each.verbs });
  }
  return resources
    .filter(({ name }) => !name.includes('/'))
    .map((each) => ({
      resource: each.name,
      responseKind: kindOf(each),
      scope: each.namespaced ? 'Namespaced' : 'Cluster',
      singularResource: each.singularName,
      verbs: each.verbs,
      ...(each.shortNames !== undefined && { shortNames: each.shortNames }),
      ...(each.categories !== undefined && { categories: each.categories }),
      ...(subresources.has(each.name) && { subresources: subresources.get(each.name) }),
    }));
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const kindOnly = ({ group, version, kind }: Kind): object => ({ group, version, kind });

/** Returns the kind of a response. Group and version are empty if they equal those of the surrounding document. */
function responseKind({ group, version, kind }: Kind, around: Kind): object {
  return group === around.group && version === around.version
    ? { group: '', version: '', kind }
    : { group, version, kind };
}
