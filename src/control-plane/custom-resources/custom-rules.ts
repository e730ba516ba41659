import type { ApiObject } from '../../api/client/resource-type.ts';
import { applySchemaDefaults } from '../../api/structural/apply-schema-defaults.ts';
import { validateEmbedded } from '../../api/structural/embedded-resources.ts';
import { validateListTypes } from '../../api/structural/list-types.ts';
import type { SchemaNode } from '../../api/structural/schema-node.ts';
import { validateValue } from '../../api/structural/validate-value.ts';
import type { FieldError } from '../../api/validation/field-error.ts';
import type { ResourceRules } from '../model/resource-definition.ts';

/** What upstream's strategy of custom resources asks of objects (upstream: registry/customresource strategy.go). */
export function customRules(node: () => SchemaNode): ResourceRules<ApiObject> {
  const problems = (object: ApiObject, old?: ApiObject): readonly FieldError[] => {
    const root = node();
    return [
      ...validateValue(object, root, old === undefined ? undefined : { value: old }),
      ...validateEmbedded(object, root),
      ...listProblems(object, old, root),
    ];
  };
  return {
    applyDefaults: (object) => applySchemaDefaults(object, node()),
    validate: (object) => problems(object),
    validateUpdate: problems,
    // A write of the status changes nothing of metadata but whose the fields are.
    prepareForStatusUpdate: (object, old) => ({
      ...object,
      metadata: {
        ...old.metadata,
        ...(object.metadata.managedFields !== undefined && { managedFields: object.metadata.managedFields }),
      },
    }),
    validateStatusUpdate: problems,
    requiresResourceVersion: true,
  };
}

/** Elements that stood twice before may go on doing so (upstream: validateCustomResource ratcheting of list types). */
function listProblems(object: ApiObject, old: ApiObject | undefined, root: SchemaNode): readonly FieldError[] {
  const found = validateListTypes(object, root);
  return found.length > 0 && old !== undefined && validateListTypes(old, root).length > 0 ? [] : found;
}
