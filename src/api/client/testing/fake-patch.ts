/** Patches for the fake API client, over plain JSON. It supports what controllers and agents send. */
import { isRecord } from '../../../base/json-record.ts';
type Json = Record<string, unknown>;

/** RFC 7386. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  const merged: Json = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) delete merged[key];
    else merged[key] = mergePatch(merged[key], value);
  }
  return merged;
}

/** The merge keys of lists. Other lists are replaced. */
const mergeKeys: Readonly<Record<string, string>> = {
  ownerReferences: 'uid',
  conditions: 'type',
  podIPs: 'ip',
  hostIPs: 'ip',
  containers: 'name',
  initContainers: 'name',
  env: 'name',
  volumes: 'name',
  ports: 'containerPort',
  taints: 'key',
  addresses: 'type',
};
const mergedSets: ReadonlySet<string> = new Set(['finalizers']);
const deleteFrom = '$deleteFromPrimitiveList/';

export function strategicPatch(target: unknown, patch: unknown): unknown {
  if (!isRecord(patch)) return patch;
  if (patch['$patch'] === 'replace')
    return Object.fromEntries(Object.entries(patch).filter(([key]) => key !== '$patch'));
  const merged: Json = isRecord(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (key.startsWith('$setElementOrder/')) continue;
    if (key.startsWith(deleteFrom)) {
      const field = key.slice(deleteFrom.length);
      const left = asList(merged[field]).filter((item) => !asList(value).includes(item));
      if (left.length === 0) delete merged[field];
      else merged[field] = left;
    } else if (value === null) delete merged[key];
    else if (Array.isArray(value)) mergeField(merged, key, value);
    else merged[key] = strategicPatch(merged[key], value);
  }
  return merged;
}

function mergeField(merged: Json, field: string, value: readonly unknown[]): void {
  const list = mergeList(field, asList(merged[field]), value);
  if (list.length === 0 && mergeKeys[field] !== undefined) delete merged[field];
  else merged[field] = list;
}

function mergeList(field: string, target: readonly unknown[], patch: readonly unknown[]): unknown[] {
  if (mergedSets.has(field)) return [...new Set([...target, ...patch])];
  const key = mergeKeys[field];
  if (key === undefined) return [...patch];
  const given = patch.filter((element) => !isRecord(element) || element['$patch'] !== 'replace');
  if (given.length < patch.length) return given;
  const merged = [...target];
  for (const element of patch) {
    if (!isRecord(element)) continue;
    const at = merged.findIndex((each) => isRecord(each) && each[key] === element[key]);
    if (element['$patch'] === 'delete') {
      if (at >= 0) merged.splice(at, 1);
    } else if (at < 0) merged.push(strategicPatch({}, element));
    else merged[at] = strategicPatch(merged[at], element);
  }
  return merged;
}

const asList = (value: unknown): readonly unknown[] => (Array.isArray(value) ? (value as readonly unknown[]) : []);

/** RFC 6902: add, replace, remove and test. A string result is the error. */
export function jsonPatch(target: unknown, operations: readonly object[]): unknown {
  let document = structuredClone(target);
  for (const each of operations) {
    const { op, path, value } = each as { op: string; path: string; value?: unknown };
    const keys = path
      .split('/')
      .slice(1)
      .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));
    const last = keys.pop();
    if (last === undefined) {
      document = value;
      continue;
    }
    const parent = keys.reduce<unknown>(
      (at, key) => (typeof at === 'object' && at !== null ? (at as Json)[key] : undefined),
      document,
    );
    if (typeof parent !== 'object' || parent === null || !apply(parent as Json, last, op, value))
      return `the JSON patch's ${op} of ${path} does not fit`;
  }
  return document;
}

function apply(parent: Json | unknown[], key: string, op: string, value: unknown): boolean {
  if (Array.isArray(parent)) {
    const at = key === '-' ? parent.length : Number(key);
    if (op === 'add') parent.splice(at, 0, value);
    else if (at >= parent.length) return false;
    else if (op === 'remove') parent.splice(at, 1);
    else if (op === 'replace') parent[at] = value;
    else return op === 'test' && JSON.stringify(parent[at]) === JSON.stringify(value);
    return true;
  }
  if (op === 'add') parent[key] = value;
  else if (!Object.hasOwn(parent, key)) return false;
  else if (op === 'remove') delete parent[key];
  else if (op === 'replace') parent[key] = value;
  else return op === 'test' && JSON.stringify(parent[key]) === JSON.stringify(value);
  return true;
}
