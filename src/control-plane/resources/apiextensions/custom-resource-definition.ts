import {
  CLEANUP_FINALIZER,
  CustomResourceDefinitionSchema,
  findCrdCondition,
  storageVersionOf,
} from '../../../api/apiextensions/custom-resource-definition.ts';
import type { CustomResourceDefinition } from '../../../api/apiextensions/custom-resource-definition.ts';
import { packSchemas } from '../../../api/apiextensions/packed-schemas.ts';
import { customResourceDefinitions } from '../../../api/client/resource-types.ts';
import { defaultCustomResourceDefinition } from '../../../api/defaults/default-custom-resource-definition.ts';
import {
  changedSchemas,
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionStatusUpdate,
  validateCustomResourceDefinitionUpdate,
} from '../../../api/validation/apiextensions/validate-custom-resource-definition.ts';
import { crdWarnings } from '../../../api/validation/apiextensions/crd-warnings.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import type { FieldError } from '../../../api/validation/field-error.ts';
import { checkSchemaRules } from '../../cel/check-schema-rules.ts';
import type { LongCheck } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';

export const customResourceDefinitionResource = defineResource<CustomResourceDefinition>({
  type: customResourceDefinitions,
  singular: 'customresourcedefinition',
  shortNames: ['crd', 'crds'],
  categories: ['api-extensions'],
  schema: CustomResourceDefinitionSchema,
  storagePath: 'apiextensions.k8s.io/customresourcedefinitions',
  packed: packSchemas,
  rules: {
    applyDefaults: defaultCustomResourceDefinition,
    prepareForCreate: withStoredVersion,
    validate: validateCustomResourceDefinition,
    validateName: checkDnsSubdomain,
    prepareForUpdate: withStoredVersion,
    validateUpdate: validateCustomResourceDefinitionUpdate,
    validateStatusUpdate: validateCustomResourceDefinitionStatusUpdate,
    validateInTurns: checkRules,
    warnings: crdWarnings,
    requiresResourceVersion: true,
    anyFinalizer: true,
    holdDeletion: heldForCleanup,
  },
  hasStatus: true,
  countsGeneration: true,
  columns: [
    {
      name: 'Created At',
      type: 'date',
      description: 'When the definition was made.',
      cell: ({ metadata }) => metadata.creationTimestamp ?? '',
    },
  ],
  hasNoAge: true,
});

/** Rules are compiled only if the schemas have no other error. */
async function checkRules(
  definition: CustomResourceDefinition,
  { old, found, subresource }: LongCheck<CustomResourceDefinition>,
): Promise<readonly FieldError[]> {
  if (found.length > 0 || subresource !== '') return [];
  const errors: FieldError[] = [];
  for (const { schema, path } of changedSchemas(definition, old))
    errors.push(...(await checkSchemaRules(schema, path)));
  return errors;
}

/**
 * Adds the storage version. Every earlier one may have stored objects, until a migration removes it from the status.
 */
function withStoredVersion(definition: CustomResourceDefinition): CustomResourceDefinition {
  const { status } = definition;
  const stored = storageVersionOf(definition);
  const storedVersions = status?.storedVersions ?? [];
  if (stored === '' || storedVersions.includes(stored)) return definition;
  return {
    ...definition,
    status: {
      conditions: [],
      acceptedNames: { plural: '', kind: '' },
      ...status,
      storedVersions: [...storedVersions, stored],
    },
  };
}

/**
 * Returns the definition after its first deletion, which then waits until its objects are deleted (upstream:
 * registry/customresourcedefinition/etcd.go Delete). When the condition exists, only finalizers block its deletion.
 */
function heldForCleanup(definition: CustomResourceDefinition): CustomResourceDefinition | undefined {
  if (findCrdCondition(definition, 'Terminating') !== undefined) return undefined;
  const { metadata, spec, status } = definition;
  const finalizers = metadata.finalizers ?? [];
  return {
    ...definition,
    metadata: {
      ...metadata,
      finalizers: [...finalizers.filter((each) => each !== CLEANUP_FINALIZER), CLEANUP_FINALIZER],
    },
    status: {
      acceptedNames: spec.names,
      storedVersions: [],
      ...status,
      conditions: [
        ...(status?.conditions ?? []),
        {
          type: 'Terminating',
          status: 'True',
          lastTransitionTime: metadata.deletionTimestamp ?? '',
          reason: 'InstanceDeletionPending',
          message: 'CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon',
        },
      ],
    },
  };
}
