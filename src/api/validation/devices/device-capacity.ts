import { addQuantities, compareQuantities, quantityValue } from '../../quantity.ts';
import type {
  CapacityRequestPolicy,
  CapacityRequestPolicyRange,
  DeviceCapacity,
} from '../../resource/resource-slice.ts';
import type { FieldErrors } from '../field-error.ts';
import { validateItems, validateUnique } from './device-parts.ts';

const MAX_VALID_VALUES = 10;

/** Validates a capacity of a device. Only devices that several claims may use have a policy for it. */
export function validateDeviceCapacity(
  errors: FieldErrors,
  path: string,
  { value, requestPolicy }: DeviceCapacity,
  isShared: boolean,
): void {
  if (requestPolicy === undefined) return;
  const at = `${path}.requestPolicy`;
  if (!isShared) return errors.forbidden(at, 'allowMultipleAllocations must be true');
  validatePolicy(errors, at, requestPolicy, value);
}

function validatePolicy(errors: FieldErrors, path: string, policy: CapacityRequestPolicy, capacity: string): void {
  const { validValues = [], validRange, default: usual } = policy;
  if (validValues.length > 0 && validRange !== undefined)
    return errors.forbidden(
      path,
      'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time',
    );
  if (validValues.length > 0) {
    if (usual === undefined) errors.required(`${path}.default`, 'required when validValues is defined');
    else validateValues(errors, `${path}.validValues`, validValues, { usual, capacity });
  } else if (validRange !== undefined) {
    if (usual === undefined) errors.required(`${path}.default`, 'required when validRange is defined');
    else validateRange(errors, `${path}.validRange`, validRange, { usual, capacity });
  }
}

interface Amounts {
  /** The default amount. */
  readonly usual: string;
  readonly capacity: string;
}

function validateValues(errors: FieldErrors, path: string, values: readonly string[], amounts: Amounts): void {
  const { usual, capacity } = amounts;
  if (values.length > MAX_VALID_VALUES) return errors.tooMany(path, values.length, MAX_VALID_VALUES);
  for (const [index, value] of values.entries())
    if (index > 0 && compareQuantities(values[index - 1] ?? '0', value) > 0)
      errors.invalid(`${path}[${index}]`, value, 'values must be sorted in ascending order');
  validateItems(errors, path, values, MAX_VALID_VALUES, (value, at) => {
    if (compareQuantities(value, capacity) > 0)
      errors.invalid(at, value, `option is larger than capacity value: ${capacity}`);
  });
  validateUnique(errors, path, values, (value) => String(quantityValue(value)));
  if (!values.some((value) => compareQuantities(value, usual) === 0))
    errors.invalid(path, usual, 'default value is not valid according to the requestPolicy');
}

function validateRange(
  errors: FieldErrors,
  path: string,
  { min, max, step }: CapacityRequestPolicyRange,
  { usual, capacity }: Amounts,
): void {
  if (min === undefined) return errors.required(`${path}.min`, 'required when validRange is defined');
  if (compareQuantities(min, capacity) > 0)
    errors.invalid(`${path}.min`, min, `min is larger than capacity value: ${capacity}`);
  if (compareQuantities(usual, min) < 0) errors.invalid(`${path}.min`, usual, `default is less than min: ${min}`);
  if (max !== undefined) {
    if (compareQuantities(min, max) > 0) errors.invalid(`${path}.max`, min, `min is larger than max: ${max}`);
    if (compareQuantities(max, capacity) > 0)
      errors.invalid(`${path}.max`, max, `max is larger than capacity value: ${capacity}`);
    if (compareQuantities(usual, max) > 0) errors.invalid(`${path}.max`, usual, `default is more than max: ${max}`);
  }
  if (step === undefined) return;
  const oneStep = addQuantities(min, step);
  if (compareQuantities(oneStep, capacity) > 0)
    errors.invalid(`${path}.step`, step, `one step ${oneStep} is larger than capacity value: ${capacity}`);
  for (const value of max === undefined ? [usual] : [usual, max])
    if (!isStep(value, min, step))
      errors.invalid(`${path}.step`, value, `value is not a multiple of a given step (${step}) from (${min})`);
}

/** Upstream divides by a step of zero and panics; here such a step allows every amount. */
function isStep(value: string, min: string, step: string): boolean {
  const width = quantityValue(step);
  return width === 0 || (quantityValue(value) - quantityValue(min)) % width === 0;
}
