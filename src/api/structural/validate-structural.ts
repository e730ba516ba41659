import { ownValue } from '../../base/lookup.ts';
import { FieldErrors } from '../validation/field-error.ts';
import type { FieldError } from '../validation/field-error.ts';
import type { JsonSchema } from './json-schema.ts';
import { PatternTotal } from './pattern-total.ts';
import { canonicalJson } from './schema-node.ts';

type Level = 'root' | 'item' | 'field';

const unsupported = [
  ['id', 'id'],
  ['$schema', 'schema'],
  ['$ref', '$ref'],
  ['patternProperties', 'patternProperties'],
  ['dependencies', 'dependencies'],
  ['additionalItems', 'additionalItems'],
  ['definitions', 'definitions'],
] as const;

/** A keyword that is not allowed in a structural schema (upstream: schema/convert.go). */
export function unsupportedKeyword(schema: JsonSchema): string | undefined {
  for (const [key, name] of unsupported)
    if (schema[key] !== undefined) return `OpenAPIV3Schema '${name}' is not supported`;
  if (isList(schema.items)) return "OpenAPIV3Schema 'items' must be a schema, but is an array";
  for (const inner of innerSchemas(schema)) {
    const problem = unsupportedKeyword(inner);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** The direct sub-schemas, including those in alternatives. */
export function innerSchemas(schema: JsonSchema): readonly JsonSchema[] {
  const { properties, allOf, anyOf, oneOf, not } = schema;
  const inner = properties === undefined ? [] : Object.values(properties);
  // A schema has many parts without any, so nothing is created for what is absent.
  const add = (...more: readonly (JsonSchema | undefined)[]): void => {
    for (const each of more) if (each !== undefined) inner.push(each);
  };
  add(itemsOf(schema), additionalOf(schema));
  for (const list of [allOf, anyOf, oneOf]) if (list !== undefined) add(...list);
  add(not);
  return inner;
}

/** The schemas without errors. A definition is validated when it is written, and judged again for its conditions. */
const structuralSchemas = new WeakSet<JsonSchema>();

/**
 * Checks that a schema is structural: it gives the type of every field outside of alternatives, and alternatives only
 * restrict values (upstream: schema/validation.go ValidateStructural).
 */
export function validateStructural(
  schema: JsonSchema,
  path: string,
  patterns = new PatternTotal(),
): readonly FieldError[] {
  if (structuralSchemas.has(schema)) return [];
  const errors = new FieldErrors();
  validateNode(errors, schema, 'root', path);
  validateNested(errors, schema, { structural: schema, sPath: path, path, patterns });
  if (errors.list.length === 0) structuralSchemas.add(schema);
  return errors.list.toSorted((left, right) => (textOf(left) < textOf(right) ? -1 : 1));
}

const textOf = ({ field, message }: FieldError): string => `${field}: ${message}`;
const isList = (items: JsonSchema['items']): items is readonly JsonSchema[] => Array.isArray(items);
export const itemsOf = ({ items }: JsonSchema): JsonSchema | undefined =>
  items === undefined || isList(items) ? undefined : items;
export const additionalOf = ({ additionalProperties }: JsonSchema): JsonSchema | undefined =>
  typeof additionalProperties === 'object' ? additionalProperties : undefined;

function validateNode(errors: FieldErrors, schema: JsonSchema, level: Level, path: string): void {
  const items = itemsOf(schema);
  if (schema.type === 'array' && items === undefined) errors.required(`${path}.items`, 'must be specified');
  if (items !== undefined) validateNode(errors, items, 'item', `${path}.items`);
  for (const [name, property] of Object.entries(schema.properties ?? {}))
    validateNode(errors, property, 'field', `${path}.properties[${name}]`);
  if (schema.additionalProperties !== undefined && level === 'root')
    errors.forbidden(`${path}.additionalProperties`, 'must not be used at the root');
  const additional = additionalOf(schema);
  if (additional !== undefined) validateNode(errors, additional, 'field', `${path}.additionalProperties`);
  validateExtensions(errors, schema, path);
  validateType(errors, schema, level, path);
  validateMetadata(errors, schema, level, path);
}

function validateExtensions(errors: FieldErrors, schema: JsonSchema, path: string): void {
  if (schema['x-kubernetes-int-or-string'] !== true) return;
  const must = 'must be false if x-kubernetes-int-or-string is true';
  for (const name of ['x-kubernetes-preserve-unknown-fields', 'x-kubernetes-embedded-resource'] as const)
    if (schema[name] === true) errors.invalid(`${path}.${name}`, true, must);
}

const emptyTypes: Readonly<Record<Level, string>> = {
  root: 'must not be empty at the root',
  item: 'must not be empty for specified array items',
  field: 'must not be empty for specified object fields',
};

function validateType(errors: FieldErrors, schema: JsonSchema, level: Level, path: string): void {
  const { type = '' } = schema;
  const embedded = schema['x-kubernetes-embedded-resource'] === true;
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const detail = 'must be object if x-kubernetes-embedded-resource is true';
  if (embedded && type !== 'object') {
    if (type === '') errors.required(`${path}.type`, detail);
    else errors.invalid(`${path}.type`, type, detail);
  } else if (type === '' && schema['x-kubernetes-int-or-string'] !== true && !preserves)
    errors.required(`${path}.type`, emptyTypes[level]);
  if (embedded && schema.additionalProperties !== undefined)
    errors.forbidden(`${path}.additionalProperties`, 'must not be used if x-kubernetes-embedded-resource is set');
  if (level === 'root' && type !== '' && type !== 'object')
    errors.invalid(`${path}.type`, type, 'must be object at the root');
  if (embedded && !preserves && Object.keys(schema.properties ?? {}).length === 0)
    errors.required(
      `${path}.properties`,
      'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
    );
}

/** A schema may restrict only the name in metadata. */
function validateMetadata(errors: FieldErrors, schema: JsonSchema, level: Level, path: string): void {
  const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true;
  const { kind, apiVersion, metadata } = schema.properties ?? {};
  if (isResource)
    for (const [name, property] of Object.entries({ kind, apiVersion }))
      if (property !== undefined && property.type !== 'string')
        errors.invalid(`${path}.properties[${name}].type`, property.type ?? '', 'must be string');
  if (metadata === undefined) return;
  const at = `${path}.properties[metadata]`;
  if (isResource && metadata.type !== 'object') errors.invalid(`${at}.type`, metadata.type ?? '', 'must be object');
  if (level !== 'root') return;
  const { type: _, default: __, properties = {}, description: ___, ...rest } = metadata;
  const others = Object.keys(properties).filter((name) => name !== 'name' && name !== 'generateName');
  if (others.length > 0 || Object.keys(rest).length > 0)
    errors.forbidden(
      at,
      'must not specify anything other than name and generateName, but metadata is implicitly specified',
    );
}

/**
 * The position of a validation, and the structural schema of the same value. `undefined`: there is none; `any`: none is
 * required.
 */
interface Nested {
  readonly structural: JsonSchema | 'any' | undefined;
  readonly sPath: string;
  readonly path: string;
  readonly patterns: PatternTotal;
}

const intOrString = canonicalJson([{ type: 'integer' }, { type: 'string' }]);
const isIntOrString = ({ anyOf }: JsonSchema): boolean => anyOf !== undefined && canonicalJson(anyOf) === intOrString;

/** The alternatives of a node and of its sub-schemas. */
function validateNested(errors: FieldErrors, schema: JsonSchema, at: Nested): void {
  validateAlternatives(errors, schema, at, isIntOrString(schema));
  const { path } = at;
  // Only alternatives of the root must refer to existing fields (upstream: schema/complete.go).
  const structural = (of: JsonSchema, step: string): void =>
    validateNested(errors, of, { ...at, structural: 'any', sPath: `${path}.${step}`, path: `${path}.${step}` });
  const items = itemsOf(schema);
  if (items !== undefined) structural(items, 'items');
  const additional = additionalOf(schema);
  if (additional !== undefined) structural(additional, 'additionalProperties');
  for (const [name, property] of Object.entries(schema.properties ?? {})) structural(property, `properties[${name}]`);
}

function validateAlternatives(errors: FieldErrors, schema: JsonSchema, at: Nested, skipsAnyOf: boolean): void {
  const inside = (value: JsonSchema, step: string, mayBeEither: boolean): void =>
    validateValidation(errors, value, { ...at, path: `${at.path}.${step}` }, mayBeEither);
  if (!skipsAnyOf) for (const [index, each] of (schema.anyOf ?? []).entries()) inside(each, `anyOf[${index}]`, false);
  for (const [index, each] of (schema.allOf ?? []).entries())
    inside(each, `allOf[${index}]`, index === 0 && isIntOrString(each));
  for (const [index, each] of (schema.oneOf ?? []).entries()) inside(each, `oneOf[${index}]`, false);
  if (schema.not !== undefined) inside(schema.not, 'not', false);
  if (schema.pattern === undefined) return;
  const problem = at.patterns.problemOf(schema.pattern);
  if (problem !== undefined) errors.invalid(`${at.path}.pattern`, schema.pattern, problem);
}

/** Checks a schema inside an alternative, which may only restrict values. */
function validateValidation(errors: FieldErrors, schema: JsonSchema, at: Nested, mayBeEither: boolean): void {
  const { structural, sPath, path } = at;
  if (structural === undefined) return errors.required(sPath, `because it is defined in ${path}`);
  validateAlternatives(errors, schema, at, mayBeEither);
  const items = itemsOf(schema);
  if (items !== undefined)
    validateValidation(
      errors,
      items,
      {
        ...at,
        structural: structural === 'any' ? structural : itemsOf(structural),
        sPath: `${sPath}.items`,
        path: `${path}.items`,
      },
      false,
    );
  for (const [name, property] of Object.entries(schema.properties ?? {})) {
    const step = `properties[${name}]`;
    validateValidation(
      errors,
      property,
      {
        ...at,
        structural: structural === 'any' ? structural : ownValue(structural.properties, name),
        sPath: `${sPath}.${step}`,
        path: `${path}.${step}`,
      },
      false,
    );
  }
  validateForbidden(errors, schema, path);
}

const forbidden = [
  ['type', 'must be empty to be structural'],
  ['additionalProperties', 'must be undefined to be structural'],
  ['default', 'must be undefined to be structural'],
  ['title', 'must be empty to be structural'],
  ['description', 'must be empty to be structural'],
  ['nullable', 'must be false to be structural'],
  ['x-kubernetes-preserve-unknown-fields', 'must be false to be structural'],
  ['x-kubernetes-embedded-resource', 'must be false to be structural'],
  ['x-kubernetes-int-or-string', 'must be false to be structural'],
  ['x-kubernetes-list-map-keys', 'must be empty to be structural'],
  ['x-kubernetes-list-type', 'must be undefined to be structural'],
  ['x-kubernetes-map-type', 'must be undefined to be structural'],
  ['x-kubernetes-validations', 'must be empty to be structural'],
] as const;

function validateForbidden(errors: FieldErrors, schema: JsonSchema, path: string): void {
  for (const [name, detail] of forbidden) {
    const value = schema[name];
    const isEmpty = value === undefined || value === false || (Array.isArray(value) && value.length === 0);
    if (!isEmpty) errors.forbidden(`${path}.${name}`, detail);
  }
  if (Object.hasOwn(schema.properties ?? {}, 'metadata'))
    errors.forbidden(`${path}.properties[metadata]`, 'must not be specified in a nested context');
}
