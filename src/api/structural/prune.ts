import { isRecord } from '../../base/json-record.ts';
import { setOwn } from '../schema/decode.ts';
import type { SchemaNode } from './schema-node.ts';

/** Fields that every object has, even if the schema does not list them. */
const metaFields: ReadonlySet<string> = new Set(['apiVersion', 'kind', 'metadata']);

export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The value without fields that its schema does not know; the same object if there are none. The paths of removed
 * fields are added to `dropped`, as `spec.foo[0].bar`. Idempotent (upstream: schema/pruning Prune).
 */
export function prune(value: JsonObject, root: SchemaNode, dropped?: string[]): JsonObject {
  // The value is an object, and so is the result.
  return pruneObject(value, root, { path: '', dropped, isResource: true }) as JsonObject;
}

interface Place {
  readonly path: string;
  readonly dropped: string[] | undefined;
  readonly isResource: boolean;
}

const MOST_PATHS = 100;

function pruneValue(value: unknown, node: SchemaNode | undefined, place: Place): unknown {
  if (Array.isArray(value)) return pruneItems(value, node, place);
  return isRecord(value) ? pruneObject(value, node, { ...place, isResource: node?.embedded === true }) : value;
}

function pruneItems(items: readonly unknown[], node: SchemaNode | undefined, { path, dropped }: Place): unknown {
  if (node?.preserves === true && node.items === undefined) return items;
  let out: unknown[] | undefined;
  for (const [index, item] of items.entries()) {
    const place = { path: dropped === undefined ? '' : `${path}[${index}]`, dropped, isResource: false };
    const kept = pruneValue(item, node?.items, place);
    if (kept === item) continue;
    out ??= [...items];
    out[index] = kept;
  }
  return out ?? items;
}

function pruneObject(value: JsonObject, node: SchemaNode | undefined, place: Place): unknown {
  let out: Record<string, unknown> | undefined;
  for (const key of Object.keys(value)) {
    if (place.isResource && metaFields.has(key)) continue;
    const at = place.dropped === undefined ? '' : place.path === '' ? key : `${place.path}.${key}`;
    const property = node?.properties.get(key);
    const known = property ?? node?.additional;
    if (known === undefined || known === false) {
      if (node?.preserves === true) continue;
      if (place.dropped !== undefined && place.dropped.length < MOST_PATHS) place.dropped.push(at);
      out ??= { ...value };
      delete out[key];
      continue;
    }
    const inside = { path: at, dropped: place.dropped, isResource: false };
    // The values of such a map may have any form; objects in it have no known fields.
    const kept = pruneValue(value[key], known === true ? undefined : known, inside);
    if (kept === value[key]) continue;
    out ??= { ...value };
    setOwn(out, key, kept);
  }
  return out ?? value;
}
