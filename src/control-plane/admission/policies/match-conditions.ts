import type { PolicyEvaluation } from './policy-variables.ts';
import type { Prepared } from './prepared.ts';
import { CelError } from '../../../cel/values.ts';

const OUT_OF_BUDGET = 'validation failed due to running out of cost budget, no further validation rules will be run';

/** Evaluates an expression. Returns the value, or a string with upstream's error. */
export async function evaluatePrepared(
  { source, program }: Prepared,
  evaluation: PolicyEvaluation,
): Promise<{ readonly value: unknown } | { readonly error: string }> {
  if ('fault' in program) return { error: `compilation error: ${program.fault}` };
  const result = await evaluation.evaluate(program);
  await evaluation.pace.rest();
  if (result === 'cost-exceeded') return { error: OUT_OF_BUDGET };
  if (result instanceof CelError) return { error: `expression '${source}' resulted in error: ${result.message}` };
  return { value: result };
}

/**
 * Whether all conditions are true. A false condition decides, even if others have errors (upstream:
 * plugin/webhook/matchconditions/matcher.go Match).
 */
export async function matchConditions(
  conditions: readonly Prepared[],
  evaluation: PolicyEvaluation,
): Promise<boolean | { readonly error: string }> {
  const errors: string[] = [];
  for (const condition of conditions) {
    const result = await evaluatePrepared(condition, evaluation);
    if ('error' in result) errors.push(result.error);
    else if (result.value !== true) return false;
  }
  if (errors.length === 0) return true;
  return { error: errors.length === 1 ? (errors[0] as string) : `[${errors.join(', ')}]` };
}
