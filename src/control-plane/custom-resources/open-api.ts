import type { JsonSchema } from '../../api/structural/json-schema.ts';

type Shown = Readonly<Record<string, unknown>>;

/** What version 2 of OpenAPI cannot say. */
const onlyInVersion3: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf', 'not', 'nullable', 'default']);
const below: ReadonlySet<string> = new Set(['items', 'not', 'additionalProperties']);
const lists: ReadonlySet<string> = new Set(['anyOf', 'oneOf', 'allOf']);

/**
 * A schema as the documents of OpenAPI show it: as its author wrote it in version 3; in version 2 without alternatives
 * and without the types of what may be null or of two types (upstream: pkg/controller/openapi/builder, ToStructuralOpenAPIV2).
 */
export function openApiOf(schema: JsonSchema, version: 2 | 3): Shown {
  const shown: Record<string, unknown> = {};
  const eitherType = schema['x-kubernetes-int-or-string'] === true || schema.nullable === true;
  for (const [key, value] of Object.entries(schema)) {
    if (version === 2 && (onlyInVersion3.has(key) || (eitherType && key === 'type'))) continue;
    shown[key] = shownValue(key, value, version);
  }
  if (version === 3 && schema['x-kubernetes-int-or-string'] === true) delete shown['type'];
  return shown;
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
