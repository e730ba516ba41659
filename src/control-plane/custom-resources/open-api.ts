import type { JsonSchema } from '../../api/structural/json-schema.ts';

type Shown = Readonly<Record<string, unknown>>;

/** Keywords that OpenAPI 2 does not support. */
const onlyInVersion3: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'nullable', 'default']);
const below: ReadonlySet<string> = new Set(['items', 'not', 'additionalProperties']);
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);

/**
 * Returns a schema for the OpenAPI documents: unchanged in version 3, and in version 2 without unsupported keywords
 * (upstream: pkg/controller/openapi/builder, v2 ToStructuralOpenAPIV2).
 */
export function openApiOf(schema: JsonSchema, version: 2 | 3): Shown {
  return version === 2 ? inVersion2(schema) : inVersion3(schema);
}

function inVersion3(schema: JsonSchema): Shown {
  const shown: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema)) shown[key] = shownValue(key, value, 3);
  if (schema['x-kubernetes-int-or-string'] === true) {
    delete shown['type'];
    Object.assign(shown, eitherType(schema));
  }
  return schema['x-kubernetes-embedded-resource'] === true ? withObjectFields(shown, 3) : shown;
}

const integerOrString = [{ type: 'integer' }, { type: 'string' }];

/**
 * Adds both types for clients that do not know the extension, unless the author wrote them (upstream: schema Unfold).
 */
function eitherType({ anyOf, allOf = [] }: JsonSchema): Shown {
  const isWritten = [anyOf, allOf[0]?.anyOf].some((each) => JSON.stringify(each) === JSON.stringify(integerOrString));
  if (isWritten) return {};
  if (anyOf === undefined) return { anyOf: integerOrString };
  return { allOf: [{ anyOf: integerOrString }, ...allOf.map((each) => openApiOf(each, 3))] };
}

/** The fields that every object has (upstream: addEmbeddedProperties). */
function withObjectFields(shown: Shown, version: 2 | 3): Shown {
  const prefix = version === 2 ? '#/definitions/' : '#/components/schemas/';
  const { properties, required = [] } = shown as {
    readonly properties?: object;
    readonly required?: readonly string[];
  };
  const missing = ['kind', 'apiVersion'].filter((name) => !required.includes(name));
  return {
    ...shown,
    properties: {
      ...properties,
      apiVersion: { type: 'string', description: 'The group and version of the embedded object, such as apps/v1.' },
      kind: { type: 'string', description: 'The kind of the embedded object.' },
      metadata: { $ref: `${prefix}io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta` },
    },
    required: [...required, ...missing],
  };
}

/**
 * Converts a schema to version 2. It leaves out alternatives, and constraints with which kubectl would refuse valid
 * values.
 */
function inVersion2(schema: JsonSchema): Shown {
  const preserves = schema['x-kubernetes-preserve-unknown-fields'] === true;
  const isOpen = preserves || schema.nullable === true;
  const shown: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(schema))
    if (!onlyInVersion3.has(key) && !(isOpen && (key === 'items' || key === 'properties')))
      shown[key] = shownValue(key, value, 2);
  const isUntyped =
    schema.nullable === true ||
    schema['x-kubernetes-int-or-string'] === true ||
    (preserves && schema.type === 'object') ||
    (schema.type === 'array' && shown['items'] === undefined);
  if (isUntyped) delete shown['type'];
  const required = requiredIn2(schema);
  if (required === undefined) delete shown['required'];
  else shown['required'] = required;
  return schema['x-kubernetes-embedded-resource'] === true && !preserves ? withObjectFields(shown, 2) : shown;
}

/** Returns the required fields. A nullable field is not required for such a client. */
function requiredIn2({
  required = [],
  properties = {},
  additionalProperties,
}: JsonSchema): readonly string[] | undefined {
  if (typeof additionalProperties === 'object' && additionalProperties.nullable === true) return undefined;
  const left = required.filter((name) => !Object.hasOwn(properties, name) || properties[name]?.nullable !== true);
  return left.length === 0 ? undefined : left;
}

function shownValue(key: string, value: unknown, version: 2 | 3): unknown {
  // The readers of `readJsonSchema` have made sure that these are schemas.
  if (key === 'properties')
    return Object.fromEntries(
      Object.entries(value as Readonly<Record<string, JsonSchema>>).map(([name, each]) => [
        name,
        openApiOf(each, version),
      ]),
    );
  if (below.has(key) && typeof value === 'object') return openApiOf(value as JsonSchema, version);
  if (lists.has(key)) return (value as readonly JsonSchema[]).map((each) => openApiOf(each, version));
  return value;
}
