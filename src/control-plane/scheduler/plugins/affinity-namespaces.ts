import { matchesNothing } from '../framework/label-matcher.ts';
import type { AffinityTerm } from '../framework/pod-info.ts';
import type { ClusterObjects } from '../framework/snapshot.ts';

/** Resolves the namespace selectors of the pod's own terms into namespaces. */
export function resolveNamespaces<T extends AffinityTerm>(terms: readonly T[], objects: ClusterObjects): readonly T[] {
  if (terms.every(({ namespaceSelector }) => namespaceSelector.empty || namespaceSelector === matchesNothing))
    return terms;
  return terms.map((term) => {
    if (term.namespaceSelector.empty) return term;
    const namespaces = new Set(term.namespaces);
    for (const namespace of objects.namespaces())
      if (term.namespaceSelector.matches(namespace.labels)) namespaces.add(namespace.name);
    return { ...term, namespaces, namespaceSelector: matchesNothing };
  });
}
