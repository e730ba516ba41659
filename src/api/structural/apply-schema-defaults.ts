import { isRecord } from '../../base/json-record.ts';
import { setOwn } from '../schema/decode.ts';
import type { JsonObject } from './prune.ts';
import { fieldNode } from './schema-node.ts';
import type { SchemaNode } from './schema-node.ts';

/**
 * The value with the defaults of its schema; the very value when nothing was missing. A null that the schema does not
 * allow is taken as missing. Defaulting twice changes nothing (upstream: schema/defaulting Default,
 * PruneNonNullableNullsWithoutDefaults).
 */
export function applySchemaDefaults<T>(value: T, node: SchemaNode): T {
  // Defaults are valid values of the schema.
  return withDefaults(value, node) as T;
}

function withDefaults(value: unknown, node: SchemaNode | undefined): unknown {
  if (node === undefined) return value;
  if (Array.isArray(value)) return itemsWithDefaults(value, node.items);
  return isRecord(value) ? objectWithDefaults(value, node) : value;
}

const isMissing = (value: unknown, node: SchemaNode | undefined): boolean =>
  value === undefined || (value === null && node !== undefined && !node.nullable);

function itemsWithDefaults(items: readonly unknown[], node: SchemaNode | undefined): unknown {
  if (node === undefined) return items;
  let out: unknown[] | undefined;
  for (const [index, item] of items.entries()) {
    const filled = withDefaults(item === null && !node.nullable && node.hasDefault ? node.json.default : item, node);
    if (filled === item) continue;
    out ??= [...items];
    out[index] = filled;
  }
  return out ?? items;
}

function objectWithDefaults(value: JsonObject, node: SchemaNode): JsonObject {
  let out: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const known = fieldNode(node, key);
    const given = value[key];
    if (isMissing(given, known) && known?.hasDefault !== true) {
      out ??= { ...value };
      delete out[key];
      continue;
    }
    const filled = withDefaults(isMissing(given, known) ? known?.json.default : given, known);
    if (filled === given) continue;
    out ??= { ...value };
    setOwn(out, key, filled);
  }
  for (const [key, property] of node.properties) {
    if (!property.hasDefault || Object.hasOwn(value, key)) continue;
    out ??= { ...value };
    setOwn(out, key, withDefaults(property.json.default, property));
  }
  return out ?? value;
}
