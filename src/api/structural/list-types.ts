import { isRecord } from '../../base/json-record.ts';
import { FieldErrors } from '../validation/field-error.ts';
import type { FieldError } from '../validation/field-error.ts';
import { canonicalJson, fieldNode } from './schema-node.ts';
import type { SchemaNode } from './schema-node.ts';

/**
 * Finds duplicate elements in lists that are sets or maps by keys (upstream: schema/listtype ValidateListSetsAndMaps).
 */
export function validateListTypes(value: unknown, root: SchemaNode): readonly FieldError[] {
  const errors = new FieldErrors();
  visit(errors, value, root, '');
  return errors.list;
}

function visit(errors: FieldErrors, value: unknown, node: SchemaNode, path: string): void {
  if (Array.isArray(value)) {
    if (node.listType === 'set') checkSet(errors, value, path);
    if (node.listType === 'map') checkMap(errors, value, node, path);
    if (node.items !== undefined)
      for (const [index, item] of value.entries()) visit(errors, item, node.items, `${path}[${index}]`);
  } else if (isRecord(value))
    for (const key of Object.keys(value)) {
      const child = fieldNode(node, key);
      const step = node.properties.has(key) ? (path === '' ? key : `${path}.${key}`) : `${path}[${key}]`;
      if (child !== undefined) visit(errors, value[key], child, step);
    }
}

/** The second one of equal elements; further ones are not reported. */
function repeated(keys: readonly string[]): readonly number[] {
  const seen = new Map<string, number>();
  const found: number[] = [];
  for (const [index, key] of keys.entries()) {
    const times = seen.get(key) ?? 0;
    if (times === 1) found.push(index);
    seen.set(key, times + 1);
  }
  return found;
}

function checkSet(errors: FieldErrors, items: readonly unknown[], path: string): void {
  for (const index of repeated(items.map(canonicalJson))) errors.duplicate(`${path}[${index}]`, items[index]);
}

function checkMap(errors: FieldErrors, items: readonly unknown[], { listMapKeys }: SchemaNode, path: string): void {
  const odd = items.findIndex((item) => item !== null && !isRecord(item));
  if (odd >= 0) return errors.invalid(`${path}[${odd}]`, items[odd], 'must be an object for an array of list-type map');
  const keys = items.map((item) =>
    Object.fromEntries(
      listMapKeys.flatMap((key) => (isRecord(item) && Object.hasOwn(item, key) ? [[key, item[key]]] : [])),
    ),
  );
  for (const index of repeated(keys.map(canonicalJson))) errors.duplicate(`${path}[${index}]`, keys[index]);
}
