import type { Namespace } from '../core/namespace.ts';

/** A copy with the defaults that the API server sets: its name as a label, so that selectors can select it. */
export function defaultNamespace(namespace: Namespace): Namespace {
  const { metadata, status } = namespace;
  const labelled =
    metadata.name === ''
      ? metadata
      : { ...metadata, labels: { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name } };
  return { ...namespace, metadata: labelled, status: { ...status, phase: status?.phase || 'Active' } };
}
