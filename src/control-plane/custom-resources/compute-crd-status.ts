import { approvalState, isProtectedGroup } from '../../api/apiextensions/api-approval.ts';
import { findCrdCondition } from '../../api/apiextensions/custom-resource-definition.ts';
import type {
  CrdConditionType,
  CustomResourceDefinition,
  CustomResourceDefinitionCondition,
  CustomResourceDefinitionStatus,
} from '../../api/apiextensions/custom-resource-definition.ts';
import { isRecord } from '../../base/json-record.ts';
import { readJsonSchema } from '../../api/structural/json-schema.ts';
import { validateStructural } from '../../api/structural/validate-structural.ts';
import { formatFieldError } from '../../api/validation/field-error.ts';
import { acceptNames } from './accept-names.ts';

export interface NewCondition {
  readonly type: CrdConditionType;
  readonly status: 'True' | 'False' | 'Unknown';
  readonly reason: string;
  readonly message: string;
}

/** Sets one condition. Its time changes only with its status. */
export function setCondition(
  conditions: readonly CustomResourceDefinitionCondition[],
  { type, status, reason, message }: NewCondition,
  nowText: string,
): CustomResourceDefinitionCondition[] {
  const old = conditions.find((each) => each.type === type);
  if (old?.status === status && old.reason === reason && old.message === message) return [...conditions];
  const lastTransitionTime = old?.status === status ? (old.lastTransitionTime ?? nowText) : nowText;
  const next = { type, status, lastTransitionTime, reason, message };
  return old === undefined ? [...conditions, next] : conditions.map((each) => (each === old ? next : each));
}

/**
 * Computes the status of a definition from its names, its schemas and the other definitions of its group; undefined if
 * it is unchanged (upstream: controller/status, establish, nonstructuralschema, apiapproval).
 */
export function computeCrdStatus(
  definition: CustomResourceDefinition,
  others: readonly CustomResourceDefinition[],
  nowText: string,
): CustomResourceDefinitionStatus | undefined {
  const before = definition.status ?? { conditions: [], acceptedNames: { plural: '', kind: '' }, storedVersions: [] };
  const { names, conflict } = acceptNames(definition, others);
  const accepted: NewCondition =
    conflict === undefined
      ? { type: 'NamesAccepted', status: 'True', reason: 'NoConflicts', message: 'no conflicts found' }
      : { type: 'NamesAccepted', status: 'False', ...conflict };
  let conditions = setCondition(before.conditions, accepted, nowText);
  const established = establishedCondition(definition, conflict === undefined);
  if (established !== undefined) conditions = setCondition(conditions, established, nowText);
  if (mayBeNonStructural(before.conditions))
    conditions = withOptional(conditions, 'NonStructuralSchema', nonStructural(definition), nowText);
  conditions = withOptional(conditions, 'KubernetesAPIApprovalPolicyConformant', approval(definition), nowText);
  const next = { ...before, conditions, acceptedNames: names };
  return JSON.stringify(next) === JSON.stringify(before) ? undefined : next;
}

/** Returns the condition Established, which stays true even if the names are no longer accepted. */
function establishedCondition(definition: CustomResourceDefinition, isAccepted: boolean): NewCondition | undefined {
  if (findCrdCondition(definition, 'Established')?.status === 'True') return undefined;
  const message = 'the initial names have been accepted';
  return isAccepted
    ? { type: 'Established', status: 'True', reason: 'InitialNamesAccepted', message }
    : { type: 'Established', status: 'False', reason: 'NotAccepted', message: 'not all names are accepted' };
}

function withOptional(
  conditions: CustomResourceDefinitionCondition[],
  type: CrdConditionType,
  condition: NewCondition | undefined,
  nowText: string,
): CustomResourceDefinitionCondition[] {
  if (condition !== undefined) return setCondition(conditions, condition, nowText);
  return conditions.some((each) => each.type === type) ? conditions.filter((each) => each.type !== type) : conditions;
}

/**
 * Writes are refused unless their schemas are structural or unchanged, so a definition that was once judged structural
 * stays so. Without this, a start would read and check the schemas of all definitions.
 */
function mayBeNonStructural(known: readonly CustomResourceDefinitionCondition[]): boolean {
  const has = (type: CrdConditionType): boolean => known.some((each) => each.type === type);
  return has('NonStructuralSchema') || !has('NamesAccepted');
}

/** Cached results of schema checks; definitions share immutable schemas with the cache. */
const problemsOf = new WeakMap<object, readonly string[]>();

function nonStructural({ spec }: CustomResourceDefinition): NewCondition | undefined {
  const problems = spec.versions.flatMap(({ schema }, index) => {
    if (!isRecord(schema?.openAPIV3Schema)) return [];
    let known = problemsOf.get(schema);
    if (known === undefined) {
      const path = `spec.versions[${index}].schema.openAPIV3Schema`;
      known = validateStructural(readJsonSchema(schema.openAPIV3Schema).schema, path).map(formatFieldError);
      problemsOf.set(schema, known);
    }
    return known;
  });
  if (spec.preserveUnknownFields === true)
    problems.unshift('spec.preserveUnknownFields: Invalid value: true: must be false');
  if (problems.length === 0) return undefined;
  const message = problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`;
  return { type: 'NonStructuralSchema', status: 'True', reason: 'Violations', message };
}

const approvals = {
  missing: { status: 'False', reason: 'MissingAnnotation' },
  invalid: { status: 'False', reason: 'InvalidAnnotation' },
  bypassed: { status: 'False', reason: 'UnapprovedAnnotation' },
  approved: { status: 'True', reason: 'ApprovedAnnotation' },
} as const;

function approval({ metadata, spec }: CustomResourceDefinition): NewCondition | undefined {
  if (!isProtectedGroup(spec.group)) return undefined;
  const { state, reason } = approvalState(metadata.annotations);
  return { type: 'KubernetesAPIApprovalPolicyConformant', ...approvals[state], message: reason };
}
