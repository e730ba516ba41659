import { isRecord } from '../../base/json-record.ts';

type Check = (value: unknown) => boolean;

const text: Check = (value) => typeof value === 'string';
const nonEmptyText: Check = (value) => typeof value === 'string' && value !== '';
const flag: Check = (value) => typeof value === 'boolean';
const isTrue: Check = (value) => value === true;
const number: Check = (value) => typeof value === 'number';
const whole: Check = (value) => Number.isSafeInteger(value);
const anyValue: Check = (value) => value !== null && value !== undefined;
const listOf =
  (item: Check): Check =>
  (value) =>
    Array.isArray(value) && value.length > 0 && value.every(item);
const fieldsOf =
  (known: ReadonlyMap<string, Check>): Check =>
  (value) =>
    isRecord(value) && Object.keys(value).every((key) => known.get(key)?.(value[key]) === true);
const node: Check = (value) => isNode(value);
const nodes = listOf(node);
const properties: Check = (value) => {
  if (!isRecord(value)) return false;
  const names = Object.keys(value);
  return names.length > 0 && names.every((name) => node(value[name]));
};

const rule = fieldsOf(
  new Map<string, Check>([
    ['rule', nonEmptyText],
    ['message', nonEmptyText],
    ['messageExpression', nonEmptyText],
    ['reason', text],
    ['fieldPath', nonEmptyText],
    ['optionalOldSelf', flag],
  ]),
);

/** The keywords that structural schemas may have. */
const keywords: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['description', nonEmptyText],
  ['type', nonEmptyText],
  ['format', nonEmptyText],
  ['title', nonEmptyText],
  ['default', anyValue],
  ['maximum', number],
  ['exclusiveMaximum', isTrue],
  ['minimum', number],
  ['exclusiveMinimum', isTrue],
  ['maxLength', whole],
  ['minLength', whole],
  ['pattern', nonEmptyText],
  ['maxItems', whole],
  ['minItems', whole],
  ['multipleOf', number],
  ['enum', listOf(() => true)],
  ['maxProperties', whole],
  ['minProperties', whole],
  ['required', listOf(text)],
  ['items', node],
  ['allOf', nodes],
  ['oneOf', nodes],
  ['anyOf', nodes],
  ['not', node],
  ['properties', properties],
  ['additionalProperties', (value) => typeof value === 'boolean' || node(value)],
  ['example', anyValue],
  ['nullable', isTrue],
  ['x-kubernetes-preserve-unknown-fields', flag],
  ['x-kubernetes-embedded-resource', isTrue],
  ['x-kubernetes-int-or-string', isTrue],
  ['x-kubernetes-list-map-keys', listOf(text)],
  ['x-kubernetes-list-type', text],
  ['x-kubernetes-map-type', text],
  ['x-kubernetes-validations', listOf(rule)],
]);

const isNode = fieldsOf(keywords);

/** Schemas found to be canonical. Schemas are immutable. */
const canonical = new WeakSet<object>();

export const isKnownCanonical = (value: unknown): boolean => isRecord(value) && canonical.has(value);

/**
 * Whether decoding a schema, removing its zero values and reading it all return the same value. Nearly all schemas are
 * so, and need not be copied three times. It takes linear time and creates nothing; other schemas are copied.
 */
export function isCanonicalSchema(value: unknown): boolean {
  if (isKnownCanonical(value)) return true;
  if (!isRecord(value) || !node(value)) return false;
  canonical.add(value);
  return true;
}
