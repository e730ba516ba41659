import { formatType, listOf, mapOf, objectType, stringType } from '../../../cel/types.ts';
import type { CelType } from '../../../cel/types.ts';
import type { Program } from '../../../cel/compile.ts';
import { compileExpression } from '../../../cel/compile.ts';
import { fromJson } from '../../../cel/json-values.ts';
import { CelError } from '../../../cel/values.ts';
import type { Steps } from '../../../base/steps.ts';
import { goAggregate } from '../../../api/go-aggregate.ts';
import { baseEnvironment } from '../../cel/environment.ts';
import { PER_CALL_LIMIT } from '../../cel/limits.ts';

const texts = (...names: string[]): Record<string, CelType> =>
  Object.fromEntries(names.map((name) => [name, stringType]));
const selector = (name: string): CelType =>
  objectType(name, {
    rawSelector: stringType,
    requirements: listOf(
      objectType('kubernetes.SelectorRequirement', { ...texts('key', 'operator'), values: listOf(stringType) }),
    ),
  });

/** The variables of expressions: a SubjectAccessReviewSpec as `request` (upstream: authorization/cel/compile.go). */
const environment = baseEnvironment.withVariables({
  request: objectType('kubernetes.SubjectAccessReviewSpec', {
    ...texts('user', 'uid'),
    groups: listOf(stringType),
    extra: mapOf(stringType, listOf(stringType)),
    resourceAttributes: objectType('kubernetes.ResourceAttributes', {
      ...texts('namespace', 'verb', 'group', 'version', 'resource', 'subresource', 'name'),
      fieldSelector: selector('kubernetes.FieldSelectorAttributes'),
      labelSelector: selector('kubernetes.LabelSelectorAttributes'),
    }),
    nonResourceAttributes: objectType('kubernetes.NonResourceAttributes', texts('path', 'verb')),
  }),
});

/** Compiles a condition. A string is the error, in upstream's words. */
export function compileMatchCondition(source: string): Program | string {
  const program = compileExpression(source, environment);
  if ('fault' in program) return `compilation failed: ${program.fault}`;
  return program.type.kind === 'bool' ? program : `must evaluate to bool but got ${formatType(program.type)}`;
}

/** The spec of a review, in which every text is set, even if it is empty. */
export interface ReviewedAccess {
  readonly user: string;
  readonly uid: string;
  readonly groups: readonly string[];
  readonly extra: Readonly<Record<string, readonly string[]>>;
  readonly resourceAttributes?: object;
  readonly nonResourceAttributes?: object;
}

/**
 * Whether the webhook must be called. A false condition decides, even if others have errors (upstream:
 * authorization/cel/matcher.go Eval). It yields after each condition.
 */
export function* judgeConditions(
  conditions: readonly Program[],
  request: ReviewedAccess,
): Steps<boolean | { readonly error: string }> {
  const value = fromJson(request);
  const errors: string[] = [];
  for (const { source, evaluate } of conditions) {
    const { result } = evaluate((name) => (name === 'request' ? value : undefined), PER_CALL_LIMIT);
    const problem =
      result instanceof CelError
        ? result.message
        : result === 'cost-exceeded'
          ? 'operation cancelled: actual cost limit exceeded'
          : undefined;
    if (problem !== undefined)
      errors.push(`cel evaluation error: expression '${source}' resulted in error: ${problem}`);
    else if (result !== true) return false;
    yield;
  }
  return errors.length === 0 ? true : { error: goAggregate(errors) };
}
