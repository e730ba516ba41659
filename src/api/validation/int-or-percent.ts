import type { FieldErrors } from './field-error.ts';

const NOT_A_PERCENTAGE =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')";

function percentOf(value: number | string): number | undefined {
  return typeof value === 'string' && /^[0-9]+%$/.test(value) ? Number(value.slice(0, -1)) : undefined;
}

/** The number, or the number of the percentage; 0 for other values. */
export function plainNumber(value: number | string): number {
  if (typeof value === 'number') return value;
  return percentOf(value) ?? (/^[-+]?[0-9]+$/.test(value) ? Number(value) : 0);
}

/** Validates a count or a percentage (upstream: apps ValidatePositiveIntOrPercent). */
export function validateIntOrPercent(errors: FieldErrors, field: string, value: number | string): void {
  if (typeof value === 'number') errors.nonNegative(field, value);
  else if (percentOf(value) === undefined) errors.invalid(field, value, NOT_A_PERCENTAGE);
}

export function validateAtMostAll(errors: FieldErrors, field: string, value: number | string): void {
  if ((percentOf(value) ?? 0) > 100) errors.invalid(field, value, 'must not be greater than 100%');
}
