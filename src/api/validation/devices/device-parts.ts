/**
 * Rules that classes, claims and slices of resource.k8s.io share, with upstream's messages (upstream:
 * apis/resource/validation).
 */
import type {
  DeviceSelector,
  DeviceTaint,
  DeviceToleration,
  OpaqueDeviceConfiguration,
} from '../../resource/device-config.ts';
import type { FieldErrors } from '../field-error.ts';
import { byteLength, checkDnsLabel, checkDnsSubdomain, checkLabelKey, checkLabelValue } from '../names.ts';
import { validateCsiDriverName } from '../pod/volumes-remote.ts';

const MAX_SELECTORS = 32;
const MAX_EXPRESSION_BYTES = 10 * 1024;
const MAX_PARAMETER_BYTES = 10 * 1024;
const MAX_POOL_NAME_BYTES = 253;
const MAX_IDENTIFIER_BYTES = 32;
const MAX_BINDING_CONDITIONS = 4;
const taintEffects = ['NoExecute', 'NoSchedule', 'None'];

/** Rules of drivers' names are those of CSI drivers. */
export const validateDriverName = validateCsiDriverName;

export function validateLabelName(errors: FieldErrors, field: string, name: string): void {
  errors.invalidEach(field, name, checkDnsLabel(name));
}

/** Checks each item unless there are more than `max`: a list that is too long is not checked. */
export function validateItems<T>(
  errors: FieldErrors,
  field: string,
  items: readonly T[],
  max: number,
  check: (item: T, path: string) => void,
): void {
  if (items.length > max) return errors.tooMany(field, items.length, max);
  for (const [index, item] of items.entries()) check(item, `${field}[${index}]`);
}

/** Rejects an item whose key an earlier item has. */
export function validateUnique<T>(
  errors: FieldErrors,
  field: string,
  items: readonly T[],
  keyOf: (item: T) => string,
): void {
  const seen = new Set<string>();
  for (const [index, item] of items.entries()) {
    const key = keyOf(item);
    if (seen.has(key)) errors.duplicate(`${field}[${index}]`, key);
    seen.add(key);
  }
}

export function validatePoolName(errors: FieldErrors, field: string, name: string): void {
  if (name === '') return errors.required(field);
  if (byteLength(name) > MAX_POOL_NAME_BYTES) return errors.tooLong(field, MAX_POOL_NAME_BYTES);
  for (const part of name.split('/')) errors.invalidEach(field, part, checkDnsSubdomain(part));
}

const IDENTIFIER_TEXT =
  "a valid C identifier must start with alphabetic character or '_', followed by a string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or 'MyName', regex used for validation is '[A-Za-z_][A-Za-z0-9_]*')";

function validateIdentifier(errors: FieldErrors, field: string, id: string): void {
  if (byteLength(id) > MAX_IDENTIFIER_BYTES) errors.tooLong(field, MAX_IDENTIFIER_BYTES);
  if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(id)) errors.invalid(field, id, IDENTIFIER_TEXT);
}

/** The name of an attribute or capacity: DOMAIN/ID, or ID alone, which belongs to the driver. */
export function validateQualifiedName(errors: FieldErrors, field: string, name: string): void {
  const [first = '', second, ...rest] = name.split('/');
  // As upstream: a name with several slashes passes.
  if (rest.length > 0) return;
  if (second === undefined) return validateIdentifier(errors, field, first);
  if (first === '') errors.invalid(field, '', 'the domain must not be empty');
  else validateDriverName(errors, field, first);
  if (second === '') errors.invalid(field, '', 'the name must not be empty');
  else validateIdentifier(errors, field, second);
}

export function validateFullyQualifiedName(errors: FieldErrors, field: string, name: string): void {
  validateQualifiedName(errors, field, name);
  if (!name.includes('/'))
    errors.invalid(field, name, 'a fully qualified name must be a domain and a name separated by a slash');
}

export function validateSelectors(errors: FieldErrors, field: string, selectors: readonly DeviceSelector[]): void {
  validateItems(errors, field, selectors, MAX_SELECTORS, ({ cel }, path) => {
    if (cel === undefined) errors.required(`${path}.cel`);
    else if (byteLength(cel.expression) > MAX_EXPRESSION_BYTES)
      errors.tooLong(`${path}.cel.expression`, MAX_EXPRESSION_BYTES);
    else if (cel.expression === '') errors.required(`${path}.cel.expression`);
  });
}

/** Validates an embedded JSON object and its size (upstream: validateRawExtension). */
export function validateRawObject(errors: FieldErrors, field: string, value: unknown, maxBytes: number): void {
  if (value === undefined || value === null) return errors.required(field);
  if (byteLength(JSON.stringify(value)) > maxBytes) errors.tooLong(field, maxBytes);
  else if (typeof value !== 'object' || Array.isArray(value))
    errors.invalid(field, '<value omitted>', 'must be a valid JSON object');
}

export function validateDeviceConfiguration(
  errors: FieldErrors,
  path: string,
  { opaque }: { readonly opaque?: OpaqueDeviceConfiguration | undefined },
): void {
  if (opaque === undefined) return errors.required(`${path}.opaque`);
  validateDriverName(errors, `${path}.opaque.driver`, opaque.driver);
  validateRawObject(errors, `${path}.opaque.parameters`, opaque.parameters, MAX_PARAMETER_BYTES);
}

export function validateDeviceToleration(errors: FieldErrors, path: string, toleration: DeviceToleration): void {
  const { key = '', value = '' } = toleration;
  const operator: string = toleration.operator ?? '';
  if (key !== '') errors.invalidEach(`${path}.key`, key, checkLabelKey(key));
  if (operator === 'Exists') {
    if (value !== '') errors.invalid(`${path}.value`, value, 'must be empty for operator `Exists`');
  } else if (operator === 'Equal') errors.invalidEach(`${path}.value`, value, checkLabelValue(value));
  else if (operator === '') errors.required(`${path}.operator`);
  else errors.notSupported(`${path}.operator`, operator, ['Equal', 'Exists']);
  if (toleration.effect) errors.oneOf(`${path}.effect`, toleration.effect, taintEffects);
}

export function validateDeviceTaint(errors: FieldErrors, path: string, { key, value, effect }: DeviceTaint): void {
  errors.invalidEach(`${path}.key`, key, checkLabelKey(key));
  if (value) errors.invalidEach(`${path}.value`, value, checkLabelValue(value));
  if ((effect as string) === '') errors.required(`${path}.effect`);
  else errors.oneOf(`${path}.effect`, effect, taintEffects);
}

/** Upstream: validateDeviceBindingParameters. */
export function validateBindingConditions(
  errors: FieldErrors,
  path: string,
  conditions: readonly string[],
  failures: readonly string[],
): void {
  const at = `${path}.bindingConditions`;
  const failuresAt = `${path}.bindingFailureConditions`;
  const checkName = (name: string, field: string): void => errors.invalidEach(field, name, checkLabelKey(name));
  validateItems(errors, at, conditions, MAX_BINDING_CONDITIONS, checkName);
  validateItems(errors, failuresAt, failures, MAX_BINDING_CONDITIONS, checkName);
  validateUnique(errors, at, conditions, (name) => name);
  validateUnique(errors, failuresAt, failures, (name) => name);
  const known = new Set(conditions);
  for (const [index, name] of failures.entries())
    if (known.has(name))
      errors.invalid(
        `${failuresAt}[${index}]`,
        name,
        'bindingFailureConditions must not overlap with bindingConditions',
      );
  if (conditions.length === 0 && failures.length > 0)
    errors.invalid(at, conditions, 'bindingConditions are required to use bindingFailureConditions');
  if (failures.length === 0 && conditions.length > 0)
    errors.invalid(failuresAt, failures, 'bindingFailureConditions are required to use bindingConditions');
}

const UID_TEXT =
  'uid must be in RFC 4122 normalized form, `xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx` with lowercase hexadecimal characters';

/** Validates the id of a share of a device. */
export function validateShareId(errors: FieldErrors, field: string, id: string | undefined): void {
  if (id === undefined || /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(id)) return;
  const digits = id.replace(/^urn:uuid:|[{}-]/g, '');
  if (![32, 36, 38, 45].includes(id.length))
    errors.invalid(field, id, `error validating uid: invalid UUID length: ${id.length}`);
  else if (!/^[0-9a-fA-F]{32}$/.test(digits)) errors.invalid(field, id, 'error validating uid: invalid UUID format');
  else errors.invalid(field, id, UID_TEXT);
}
