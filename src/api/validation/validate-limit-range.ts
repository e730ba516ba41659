import { ownValue } from '../../base/lookup.ts';
import type { LimitRange, LimitRangeItem } from '../core/limit-range.ts';
import { compareQuantities, parseQuantity } from '../quantity.ts';
import { FieldErrors } from './field-error.ts';
import type { FieldError } from './field-error.ts';
import { checkLabelKey } from './names.ts';
import { mayOvercommit, validateLimitName } from './resource-names.ts';

/**
 * Validates a defaulted range, except its metadata (upstream: core/validation ValidateLimitRange); an update is checked
 * as a new one.
 */
export function validateLimitRange({ spec }: LimitRange): FieldError[] {
  const errors = new FieldErrors();
  const types = new Set<string>();
  for (const [index, item] of spec.limits.entries()) {
    const at = `spec.limits[${index}]`;
    validateType(errors, `${at}.type`, item.type);
    if (types.has(item.type)) errors.duplicate(`${at}.type`, item.type);
    types.add(item.type);
    validateItem(errors, at, item);
  }
  return errors.list;
}

function validateType(errors: FieldErrors, field: string, type: string): void {
  const complaints = checkLabelKey(type);
  errors.invalidEach(field, type, complaints);
  if (complaints.length === 0 && !type.includes('/') && !['Pod', 'Container', 'PersistentVolumeClaim'].includes(type))
    errors.invalid(field, type, 'must be a standard limit type or fully qualified');
}

function validateItem(errors: FieldErrors, at: string, item: LimitRangeItem): void {
  const { type, max = {}, min = {} } = item;
  const isPod = type === 'Pod';
  const names = new Set<string>();
  const check = (
    field: keyof LimitRangeItem & ('max' | 'min' | 'default' | 'defaultRequest' | 'maxLimitRequestRatio'),
  ): void => {
    for (const name of Object.keys(item[field] ?? {})) {
      validateLimitName(errors, `${at}.${field}[${name}]`, name, type);
      names.add(name);
    }
  };
  check('max');
  check('min');
  for (const field of ['default', 'defaultRequest'] as const) {
    if (!isPod) check(field);
    else if (Object.keys(item[field] ?? {}).length > 0)
      errors.forbidden(`${at}.${field}`, "may not be specified when `type` is 'Pod'");
  }
  if (type === 'PersistentVolumeClaim' && min['storage'] === undefined && max['storage'] === undefined) {
    errors.required(`${at}.limits`, 'either minimum or maximum storage value is required, but neither was provided');
  }
  check('maxLimitRequestRatio');
  for (const name of names) validateAmounts(errors, at, item, name);
}

/** Compares the amounts of one resource with each other. */
function validateAmounts(errors: FieldErrors, at: string, item: LimitRangeItem, name: string): void {
  const isPod = item.type === 'Pod';
  const [max, min] = [ownValue(item.max, name), ownValue(item.min, name)];
  const [limit, request] = isPod
    ? [undefined, undefined]
    : [ownValue(item.default, name), ownValue(item.defaultRequest, name)];
  const inOrder = (
    small: string | undefined,
    large: string | undefined,
    refuse: (small: string, large: string) => void,
  ): void => {
    if (small !== undefined && large !== undefined && compareQuantities(small, large) > 0) refuse(small, large);
  };
  inOrder(min, max, (low, high) =>
    errors.invalid(`${at}.min[${name}]`, low, `min value ${low} is greater than max value ${high}`),
  );
  const requestField = `${at}.defaultRequest[${name}]`;
  inOrder(min, request, (low, high) =>
    errors.invalid(requestField, high, `min value ${low} is greater than default request value ${high}`),
  );
  inOrder(request, max, (low, high) =>
    errors.invalid(requestField, low, `default request value ${low} is greater than max value ${high}`),
  );
  inOrder(request, limit, (low, high) =>
    errors.invalid(requestField, low, `default request value ${low} is greater than default limit value ${high}`),
  );
  inOrder(min, limit, (low, high) =>
    errors.invalid(`${at}.default[${name}]`, low, `min value ${low} is greater than default value ${high}`),
  );
  inOrder(limit, max, (low, high) =>
    errors.invalid(`${at}.default[${name}]`, high, `default value ${low} is greater than max value ${high}`),
  );
  validateRatio(errors, `${at}.maxLimitRequestRatio[${name}]`, {
    ratio: ownValue(item.maxLimitRequestRatio, name),
    max,
    min,
  });
  if (!mayOvercommit(name) && limit !== undefined && request !== undefined && compareQuantities(limit, request) !== 0) {
    errors.invalid(
      requestField,
      request,
      `default value ${limit} must equal to defaultRequest value ${request} in ${name}`,
    );
  }
}

interface Ratio {
  readonly ratio: string | undefined;
  readonly max: string | undefined;
  readonly min: string | undefined;
}

function validateRatio(errors: FieldErrors, field: string, { ratio, max, min }: Ratio): void {
  if (ratio === undefined) return;
  if (compareQuantities(ratio, '1') < 0) errors.invalid(field, ratio, `ratio ${ratio} is less than 1`);
  if (max === undefined || min === undefined) return;
  const amount = (quantity: string): number => Number(parseQuantity(quantity).nanos);
  const possible = amount(max) / amount(min);
  if (amount(ratio) / 1e9 > possible)
    errors.invalid(field, ratio, `ratio ${ratio} is greater than max/min = ${possible.toFixed(6)}`);
}
