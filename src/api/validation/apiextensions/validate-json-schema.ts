import type { JsonSchema } from '../../structural/json-schema.ts';
import { additionalOf, itemsOf } from '../../structural/validate-structural.ts';
import type { FieldErrors } from '../field-error.ts';
import { validateRuleTexts } from './validate-rule-texts.ts';

/** The position of a schema inside its parent, and what the schema must not contain there. */
interface Place {
  readonly path: string;
  readonly isRoot: boolean;
  /** Why defaults are forbidden here; absent: they are allowed. */
  readonly noDefaults?: string;
  readonly insideMeta?: boolean;
}

const metaFields: ReadonlySet<string> = new Set(['metadata', 'kind', 'apiVersion']);
const types = ['string', 'number', 'integer', 'boolean', 'array', 'object'];

/**
 * Checks what the API does not allow in any schema, structural or not (upstream:
 * ValidateCustomResourceDefinitionOpenAPISchema and specStandardValidatorV3).
 */
export function validateJsonSchema(errors: FieldErrors, schema: JsonSchema, place: Place): void {
  validateKeywords(errors, schema, place);
  validateListType(errors, schema, place.path);
  validateMapType(errors, schema, place.path);
  validateRuleTexts(errors, schema, place.path);
  validateProperties(errors, schema, place);
  const inside = (each: JsonSchema, step: string): void =>
    validateJsonSchema(errors, each, { ...place, path: `${place.path}.${step}`, isRoot: false });
  if (schema.not !== undefined) inside(schema.not, 'not');
  for (const name of ['allOf', 'oneOf', 'anyOf'] as const)
    for (const [index, each] of (schema[name] ?? []).entries()) inside(each, `${name}[${index}]`);
  const items = itemsOf(schema);
  if (items !== undefined) inside(items, 'items');
}

function validateKeywords(errors: FieldErrors, schema: JsonSchema, { path, noDefaults, insideMeta }: Place): void {
  const { type = '' } = schema;
  if (type !== '' && !types.includes(type)) errors.notSupported(`${path}.type`, type, types.toSorted());
  if (schema.default !== undefined && noDefaults !== undefined)
    errors.forbidden(`${path}.default`, `must not be set ${noDefaults}`);
  if (schema.uniqueItems === true)
    errors.forbidden(
      `${path}.uniqueItems`,
      'uniqueItems cannot be set to true since the runtime complexity becomes quadratic',
    );
  if (schema.id !== undefined) errors.forbidden(`${path}.id`, 'id is not supported');
  for (const name of ['additionalItems', 'patternProperties', 'definitions', 'dependencies', '$ref'] as const)
    if (schema[name] !== undefined) errors.forbidden(`${path}.${name}`, `${name} is not supported`);
  if (type === 'null') errors.forbidden(`${path}.type`, 'type cannot be set to null, use nullable as an alternative');
  if (Array.isArray(schema.items)) errors.forbidden(`${path}.items`, 'items must be a schema object and not an array');
  if (insideMeta === true && schema['x-kubernetes-embedded-resource'] === true)
    errors.forbidden(`${path}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta');
  if (schema['x-kubernetes-preserve-unknown-fields'] === false)
    errors.invalid(`${path}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined');
}

function validateProperties(errors: FieldErrors, schema: JsonSchema, place: Place): void {
  const { path, isRoot } = place;
  const properties = Object.entries(schema.properties ?? {});
  if (properties.length > 0 && (schema.additionalProperties === false || additionalOf(schema) !== undefined))
    errors.forbidden(`${path}.additionalProperties`, 'additionalProperties and properties are mutual exclusive');
  const additional = additionalOf(schema);
  if (additional !== undefined)
    validateJsonSchema(errors, additional, {
      ...place,
      path: `${path}.additionalProperties`,
      isRoot: false,
      ...(place.insideMeta === true && { noDefaults: 'inside additionalProperties applying to object metadata' }),
    });
  for (const [name, property] of properties) {
    const isMeta = (isRoot || schema['x-kubernetes-embedded-resource'] === true) && metaFields.has(name);
    validateJsonSchema(errors, property, {
      ...place,
      path: `${path}.properties[${name}]`,
      isRoot: false,
      ...(isMeta && { insideMeta: true }),
      ...(isMeta && isRoot && { noDefaults: `in top-level ${name}` }),
    });
  }
}

function validateMapType(errors: FieldErrors, schema: JsonSchema, path: string): void {
  const mapType = schema['x-kubernetes-map-type'];
  if (mapType === undefined) return;
  const detail = 'must be object if x-kubernetes-map-type is specified';
  if (schema.type === undefined) errors.required(`${path}.type`, detail);
  else if (schema.type !== 'object') errors.invalid(`${path}.type`, schema.type, detail);
  errors.oneOf(`${path}.x-kubernetes-map-type`, mapType, ['atomic', 'granular']);
}

function validateListType(errors: FieldErrors, schema: JsonSchema, path: string): void {
  const listType = schema['x-kubernetes-list-type'];
  const keys = schema['x-kubernetes-list-map-keys'] ?? [];
  const items = itemsOf(schema);
  if (listType !== undefined) {
    const detail = 'must be array if x-kubernetes-list-type is specified';
    if (schema.type === undefined) errors.required(`${path}.type`, detail);
    else if (schema.type !== 'array') errors.invalid(`${path}.type`, schema.type, detail);
    else if (listType === 'set' && items !== undefined) validateSetItems(errors, items, path);
    errors.oneOf(`${path}.x-kubernetes-list-type`, listType, ['atomic', 'set', 'map']);
  }
  if (keys.length > 0 && listType !== 'map') {
    const detail = 'must be map if x-kubernetes-list-map-keys is non-empty';
    if (listType === undefined) errors.required(`${path}.x-kubernetes-list-type`, detail);
    else errors.invalid(`${path}.x-kubernetes-list-type`, listType, detail);
  }
  if (listType === 'map') validateListMap(errors, keys, items, path);
  if ((listType === 'map' || listType === 'set') && items?.nullable === true)
    errors.forbidden(`${path}.items.nullable`, `cannot be nullable when x-kubernetes-list-type is ${listType}`);
}

function validateSetItems(errors: FieldErrors, items: JsonSchema, path: string): void {
  const detail = 'must be atomic as item of a list with x-kubernetes-list-type=set';
  const [listType, mapType] = [items['x-kubernetes-list-type'], items['x-kubernetes-map-type']];
  if (items.type === 'array' && listType !== undefined && listType !== 'atomic')
    errors.invalid(`${path}.items.x-kubernetes-list-type`, listType, detail);
  if (items.type === 'object' && mapType !== 'atomic')
    errors.invalid(`${path}.items.x-kubernetes-map-type`, mapType ?? null, detail);
}

function validateListMap(
  errors: FieldErrors,
  keys: readonly string[],
  items: JsonSchema | undefined,
  path: string,
): void {
  const at = `${path}.x-kubernetes-list-map-keys`;
  if (keys.length === 0) errors.required(at, 'must not be empty if x-kubernetes-list-type is map');
  if (items === undefined)
    return errors.required(`${path}.items`, 'must have a schema if x-kubernetes-list-type is map');
  if (items.type !== 'object')
    return errors.invalid(
      `${path}.items.type`,
      items.type ?? '',
      "must be object if parent array's x-kubernetes-list-type is map",
    );
  for (const [index, key] of keys.entries()) {
    const property = Object.hasOwn(items.properties ?? {}, key) ? items.properties?.[key] : undefined;
    if (property === undefined) errors.invalid(at, keys, 'entries must all be names of item properties');
    else validateMapKey(errors, property, { key, items, path: `${path}.items.properties[${key}]` });
    if (keys.indexOf(key) < index) errors.invalid(at, keys, 'must not contain duplicate entries');
  }
}

interface MapKey {
  readonly key: string;
  readonly items: JsonSchema;
  readonly path: string;
}

function validateMapKey(errors: FieldErrors, property: JsonSchema, { key, items, path }: MapKey): void {
  if (property.type === 'array' || property.type === 'object')
    errors.invalid(
      `${path}.type`,
      property.type,
      "must be a scalar type if parent array's x-kubernetes-list-type is map",
    );
  if (items.required?.includes(key) !== true && property.default === undefined)
    errors.required(
      `${path}.default`,
      'this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property',
    );
  if (property.nullable === true)
    errors.forbidden(`${path}.nullable`, 'this property is in x-kubernetes-list-map-keys, so it cannot be nullable');
}
