import { namespaces } from '../../../api/client/resource-types.ts';
import type { Namespace } from '../../../api/core/namespace.ts';
import { NamespaceSchema } from '../../../api/core/namespace.ts';
import { defaultNamespace } from '../../../api/defaults/default-namespace.ts';
import { checkDnsLabel } from '../../../api/validation/names.ts';
import {
  validateNamespace,
  validateNamespaceFinalize,
  validateNamespaceStatus,
} from '../../../api/validation/validate-namespace.ts';
import { defineResource } from '../define-resource.ts';

const LIFECYCLE_FINALIZER = 'kubernetes';

/** Adds the finalizer of the controller that empties namespaces. */
function withLifecycle(namespace: Namespace): Namespace {
  const { finalizers = [] } = namespace.spec;
  return finalizers.includes(LIFECYCLE_FINALIZER)
    ? namespace
    : { ...namespace, spec: { ...namespace.spec, finalizers: [...finalizers, LIFECYCLE_FINALIZER] } };
}

/** Restores `spec.finalizers`, which only `finalize` changes. */
function keepFinalizers(namespace: Namespace, { spec }: Namespace): Namespace {
  const { finalizers: _, ...rest } = namespace.spec;
  return { ...namespace, spec: { ...rest, ...(spec.finalizers !== undefined && { finalizers: spec.finalizers }) } };
}

export const namespaceResource = defineResource<Namespace>({
  type: namespaces,
  singular: 'namespace',
  shortNames: ['ns'],
  verbs: ['create', 'delete', 'get', 'list', 'patch', 'update', 'watch'],
  schema: NamespaceSchema,
  storagePath: 'namespaces',
  rules: {
    applyDefaults: defaultNamespace,
    prepareForCreate: withLifecycle,
    validate: validateNamespace,
    validateName: checkDnsLabel,
    prepareForUpdate: keepFinalizers,
    // Upstream checks only the metadata; `spec.finalizers` are changed by `finalize`.
    validateUpdate: () => [],
    validateStatusUpdate: validateNamespaceStatus,
    holdDeletion: (namespace) => {
      const held = (namespace.spec.finalizers ?? []).length + (namespace.metadata.finalizers ?? []).length > 0;
      return held ? { ...namespace, status: { ...namespace.status, phase: 'Terminating' } } : undefined;
    },
    returnsDeleted: true,
  },
  selectableFields: ({ status }) => ({ 'status.phase': status?.phase ?? '' }),
  hasStatus: true,
  columns: [
    {
      name: 'Status',
      type: 'string',
      description: 'Active, or Terminating while it is being emptied.',
      cell: ({ status }) => status?.phase ?? '',
    },
  ],
  views: [
    {
      name: 'finalize',
      verbs: ['update'],
      // Bodies of the namespace's own kind are decoded by its schema.
      write: (current, body) => ({ ...current, metadata: body.metadata, spec: (body as Namespace).spec }),
      validate: validateNamespaceFinalize,
    },
  ],
});
