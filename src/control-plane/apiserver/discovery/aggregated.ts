import type { ServedResource } from '../path/served-resource.ts';
import { bySubresource } from './describe.ts';
import type { GroupVersion } from './describe.ts';

export type AggregatedVersion = 'v2' | 'v2beta1';

/** All of an API's groups in one document (apidiscovery.k8s.io APIGroupDiscoveryList). */
export function aggregatedDiscovery(
  groups: ReadonlyMap<string, readonly GroupVersion[]>,
  version: AggregatedVersion,
): object {
  return {
    kind: 'APIGroupDiscoveryList',
    apiVersion: `apidiscovery.k8s.io/${version}`,
    metadata: {},
    items: [...groups].map(([group, versions]) => ({
      metadata: { ...(group !== '' && { name: group }), creationTimestamp: null },
      versions: versions.map((each) => ({
        version: each.version,
        resources: each.resources.map(describe),
        freshness: 'Current',
      })),
    })),
  };
}

function describe({ definition, verbs, subresources }: ServedResource): object {
  const { type, singular, shortNames, categories } = definition;
  const listed = [...subresources.values()].sort(bySubresource);
  return {
    resource: type.plural,
    responseKind: responseKind(type, type),
    scope: type.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: singular,
    verbs,
    ...(shortNames !== undefined && { shortNames }),
    ...(categories !== undefined && { categories }),
    ...(listed.length > 0 && {
      subresources: listed.map((each) => ({
        subresource: each.name,
        responseKind: responseKind(each.responseKind, type),
        verbs: each.verbs,
      })),
    }),
  };
}

interface Kind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Group and version stay empty where they are those of the document around. */
function responseKind({ group, version, kind }: Kind, around: Kind): object {
  return group === around.group && version === around.version
    ? { group: '', version: '', kind }
    : { group, version, kind };
}
