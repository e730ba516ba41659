import type { MatchCondition } from '../../admissionregistration/webhook.ts';
import type { FieldErrors } from '../field-error.ts';
import { checkLabelKey } from '../names.ts';

/** Returns the error of an expression in upstream's words; undefined if it is valid. */
export type CheckText = (expression: string) => string | undefined;

const MOST_CONDITIONS = 64;

/**
 * Validates the match conditions of webhooks and policies (upstream: admissionregistration/validation
 * validateMatchConditions).
 */
export function validateMatchConditions(
  errors: FieldErrors,
  field: string,
  conditions: readonly MatchCondition[],
  check: CheckText,
): void {
  if (conditions.length > MOST_CONDITIONS) return errors.tooMany(field, conditions.length, MOST_CONDITIONS);
  const names = new Set<string>();
  for (const [index, { name, expression }] of conditions.entries()) {
    const path = `${field}[${index}]`;
    const text = expression.trim();
    if (text === '') errors.required(`${path}.expression`);
    else {
      const fault = check(text);
      if (fault !== undefined) errors.invalid(`${path}.expression`, text, fault);
    }
    if (name === '') errors.required(`${path}.name`);
    else errors.invalidEach(`${path}.name`, name, checkLabelKey(name));
    if (name !== '' && names.has(name)) errors.duplicate(`${path}.name`, name);
    names.add(name);
  }
}
