import { semanticEqual } from '../semantic-equal.ts';
import type { FieldErrors } from './field-error.ts';

export const IMMUTABLE_MESSAGE = 'field is immutable';

/** Rejects a change of an immutable field (upstream: ValidateImmutableField). */
export function validateImmutable(errors: FieldErrors, field: string, value: unknown, old: unknown): void {
  if (!semanticEqual(value, old)) errors.invalid(field, value, IMMUTABLE_MESSAGE);
}
