import type { Namespace } from '../core/namespace.ts';

/**
 * A copy as the API server would have stored it; the name is also a label, by which selectors of namespaces find it.
 */
export function defaultNamespace(namespace: Namespace): Namespace {
  const { metadata, status } = namespace;
  const labelled =
    metadata.name === ''
      ? metadata
      : { ...metadata, labels: { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name } };
  return { ...namespace, metadata: labelled, status: { ...status, phase: status?.phase || 'Active' } };
}
