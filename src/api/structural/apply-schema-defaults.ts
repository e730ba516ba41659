import { isRecord } from '../../base/json-record.ts';
import { objectLimits } from '../object-limits.ts';
import { setOwn } from '../schema/decode.ts';
import type { JsonObject } from './prune.ts';
import { fieldNode } from './schema-node.ts';
import type { SchemaNode } from './schema-node.ts';

/** The limit for all defaults of one object, as JSON: larger objects cannot be stored. */
const MOST_CHARACTERS = objectLimits.storedBytes;

const sizes = new WeakMap<SchemaNode, number>();

/**
 * Bounds the defaults of one object. Defaults multiply: each item of a list gets those of its schema, and defaults may
 * contain lists. When the budget is spent, nothing more is filled in.
 */
export class DefaultsBudget {
  #left = MOST_CHARACTERS;

  get isSpent(): boolean {
    return this.#left < 0;
  }

  take(node: SchemaNode): void {
    let size = sizes.get(node);
    if (size === undefined) sizes.set(node, (size = JSON.stringify(node.json.default).length));
    this.#left -= size;
  }
}

/**
 * The value with the defaults of its schema; the same object if nothing was missing. A null that the schema does not
 * allow counts as missing. Idempotent (upstream: schema/defaulting Default, PruneNonNullableNullsWithoutDefaults).
 */
export function applySchemaDefaults<T>(value: T, node: SchemaNode, budget = new DefaultsBudget()): T {
  // Defaults are valid values of the schema.
  return withDefaults(value, node, budget) as T;
}

function withDefaults(value: unknown, node: SchemaNode | undefined, budget: DefaultsBudget): unknown {
  if (node === undefined || budget.isSpent) return value;
  if (Array.isArray(value)) return itemsWithDefaults(value, node.items, budget);
  return isRecord(value) ? objectWithDefaults(value, node, budget) : value;
}

const isMissing = (value: unknown, node: SchemaNode | undefined): boolean =>
  value === undefined || (value === null && node !== undefined && !node.nullable);

function defaultOf(node: SchemaNode, budget: DefaultsBudget): unknown {
  budget.take(node);
  return node.json.default;
}

function itemsWithDefaults(items: readonly unknown[], node: SchemaNode | undefined, budget: DefaultsBudget): unknown {
  if (node === undefined) return items;
  let out: unknown[] | undefined;
  for (const [index, item] of items.entries()) {
    const isFilled = item === null && !node.nullable && node.hasDefault;
    const filled = withDefaults(isFilled ? defaultOf(node, budget) : item, node, budget);
    if (filled === item) continue;
    out ??= [...items];
    out[index] = filled;
  }
  return out ?? items;
}

function objectWithDefaults(value: JsonObject, node: SchemaNode, budget: DefaultsBudget): JsonObject {
  let out: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    const known = fieldNode(node, key);
    const given = value[key];
    if (isMissing(given, known) && known?.hasDefault !== true) {
      out ??= { ...value };
      delete out[key];
      continue;
    }
    const isFilled = known !== undefined && isMissing(given, known);
    const filled = withDefaults(isFilled ? defaultOf(known, budget) : given, known, budget);
    if (filled === given) continue;
    out ??= { ...value };
    setOwn(out, key, filled);
  }
  for (const [key, property] of node.properties) {
    if (!property.hasDefault || budget.isSpent || Object.hasOwn(value, key)) continue;
    out ??= { ...value };
    setOwn(out, key, withDefaults(defaultOf(property, budget), property, budget));
  }
  return out ?? value;
}
