import type { CustomResourceSubresourceScale } from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { objectLimits } from '../../api/object-limits.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { applySchemaDefaults, DefaultsBudget } from '../../api/structural/apply-schema-defaults.ts';
import { validateEmbedded } from '../../api/structural/embedded-resources.ts';
import { validateListTypes } from '../../api/structural/list-types.ts';
import type { SchemaNode } from '../../api/structural/schema-node.ts';
import { validateValue } from '../../api/structural/validate-value.ts';
import { FieldErrors } from '../../api/validation/field-error.ts';
import type { FieldError, FieldErrorType } from '../../api/validation/field-error.ts';
import { CelBudget } from '../../cel/budget.ts';
import { evaluateRules } from '../cel/evaluate-rules.ts';
import { RUNTIME_BUDGET } from '../cel/limits.ts';
import { validateScale } from './custom-scale.ts';
import { finalizerWarnings } from './finalizer-warnings.ts';
import type { RuleTree } from '../cel/rule-tree.ts';
import { ruleTree } from '../cel/rule-tree.ts';
import type { LongCheck, ResourceRules } from '../model/resource-definition.ts';

/** Validation of custom objects (upstream: registry/customresource strategy.go). */
export function customRules(node: () => SchemaNode, scale?: CustomResourceSubresourceScale): ResourceRules<ApiObject> {
  const problems = (object: ApiObject, old?: ApiObject): readonly FieldError[] => {
    const root = node();
    return [
      ...validateValue(object, root, old === undefined ? undefined : { value: old }),
      ...validateEmbedded(object, root),
      ...listProblems(object, old, root),
      ...(scale === undefined ? [] : validateScale(object, scale)),
    ];
  };
  let tree: { readonly rules: RuleTree | undefined } | undefined;
  return {
    applyDefaults: (object) => withDefaults(object, node()),
    validate: (object) => problems(object),
    validateUpdate: problems,
    // A write of the status changes only managedFields in the metadata.
    prepareForStatusUpdate: (object, old) => ({
      ...object,
      metadata: {
        ...old.metadata,
        ...(object.metadata.managedFields !== undefined && { managedFields: object.metadata.managedFields }),
      },
    }),
    validateStatusUpdate: problems,
    validateInTurns: (object, check) => {
      tree ??= { rules: ruleTree(node(), true) };
      return tree.rules === undefined ? noErrors : judgeByRules(tree.rules, object, check);
    },
    requiresResourceVersion: true,
    anyFinalizer: true,
    warnings: finalizerWarnings,
  };
}

/** Applies defaults. Refuses an object whose defaults alone are larger than an object may be. */
function withDefaults(object: ApiObject, root: SchemaNode): ApiObject {
  const budget = new DefaultsBudget();
  const filled = applySchemaDefaults(object, root, budget);
  if (budget.isSpent)
    throw new ApiStatusError(
      'RequestEntityTooLarge',
      `Request entity too large: the defaults of the object are larger than ${objectLimits.storedBytes} bytes`,
    );
  return filled;
}

const noErrors = Promise.resolve<readonly FieldError[]>([]);
/** Errors that would prevent expressions from reading the value by its schema. */
const blocking: ReadonlySet<FieldErrorType> = new Set(['Required value', 'Unsupported value', 'Too long', 'Too many']);

/** Evaluates `x-kubernetes-validations` within one budget. */
function judgeByRules(
  tree: RuleTree,
  object: ApiObject,
  { old, found, warn }: LongCheck<ApiObject>,
): Promise<readonly FieldError[]> {
  if (found.some(({ type, isWrongType }) => isWrongType === true || blocking.has(type))) {
    const errors = new FieldErrors();
    errors.invalid(
      '<nil>',
      null,
      'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    );
    return Promise.resolve(errors.list);
  }
  const budget = new CelBudget(RUNTIME_BUDGET);
  return evaluateRules(tree, object, { old: old && { value: old }, ratchets: true, budget, warn });
}

/**
 * Returns the errors of lists. Existing duplicate elements may stay (upstream: validateCustomResource ratcheting of
 * list types).
 */
function listProblems(object: ApiObject, old: ApiObject | undefined, root: SchemaNode): readonly FieldError[] {
  const found = validateListTypes(object, root);
  return found.length > 0 && old !== undefined && validateListTypes(old, root).length > 0 ? [] : found;
}
