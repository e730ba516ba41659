import type { Condition } from '../core/condition.ts';
import type { FieldErrors } from './field-error.ts';
import { byteLength, checkLabelKey } from './names.ts';

const MAX_REASON_BYTES = 1024;
const MAX_MESSAGE_BYTES = 32 * 1024;
const reasonPattern = /^[A-Za-z](?:[A-Za-z0-9_,:]*[A-Za-z0-9_])?$/;
const REASON_TEXT =
  "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric characters or '_,:', and must end with an alphanumeric character or '_' " +
  "(e.g. 'my_name',  or 'MY_NAME',  or 'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?')";

/** Validates conditions of the shared type (upstream: meta/v1/validation ValidateConditions). */
export function validateConditions(errors: FieldErrors, path: string, conditions: readonly Condition[]): void {
  const seen = new Set<string>();
  for (const [index, condition] of conditions.entries()) {
    const at = `${path}[${index}]`;
    const { type, status, observedGeneration = 0, lastTransitionTime, reason, message } = condition;
    if (seen.has(type)) errors.duplicate(`${at}.type`, type);
    seen.add(type);
    errors.invalidEach(`${at}.type`, type, checkLabelKey(type));
    errors.oneOf(`${at}.status`, status, ['False', 'True', 'Unknown']);
    if (observedGeneration < 0)
      errors.invalid(`${at}.observedGeneration`, observedGeneration, 'must be greater than or equal to zero');
    if (lastTransitionTime === undefined) errors.required(`${at}.lastTransitionTime`);
    if (reason === '') errors.required(`${at}.reason`);
    else {
      if (!reasonPattern.test(reason)) errors.invalid(`${at}.reason`, reason, REASON_TEXT);
      if (byteLength(reason) > MAX_REASON_BYTES) errors.tooLong(`${at}.reason`, MAX_REASON_BYTES);
    }
    if (byteLength(message) > MAX_MESSAGE_BYTES) errors.tooLong(`${at}.message`, MAX_MESSAGE_BYTES);
  }
}
