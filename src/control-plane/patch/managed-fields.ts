import { isRecord } from '../../base/json-record.ts';
import type { ManagedFieldsEntry } from '../../api/core/meta.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { formatTime } from '../../api/time.ts';
import { compareFields } from './compare-fields.ts';
import type { Comparison } from './compare-fields.ts';
import { difference, leaf, recursiveDifference, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { equalJson } from './json-value.ts';
import { capUpdates, isSameManager, readEntries, writeEntries } from './managed-entries.ts';
import type { ManagerEntry } from './managed-entries.ts';
import { fieldSetOfNames, PathElementError } from './path-element.ts';
import { wholeFields } from './typed-fields.ts';

export interface TrackOptions {
  readonly schema: ObjectSchema;
  /** `apps/v1`. */
  readonly apiVersion: string;
  /** The existing object; absent for a create. */
  readonly old: ApiObject | undefined;
  /**
   * The decoded object with defaults, before strategy and admission change it. Fields that those set have no manager.
   */
  readonly new: ApiObject;
  /** The field manager; by default the user agent's name, and `unknown` for ''. */
  readonly manager: string;
  /** The subresource; '' for the object itself. Only there a client may set `managedFields`. */
  readonly subresource: string;
  readonly nowMs: number;
  /**
   * The names of whole fields that this kind of write does not change: `status` for the object itself, `spec` and
   * `metadata.labels` for some status.
   */
  readonly resetFields: readonly string[];
  /** Other versions of the kind, in which the same fields have the same paths. Their entries count as well. */
  readonly versions?: readonly string[];
}

/**
 * Updates `metadata.managedFields` after a create, an update or a patch other than apply. Changed fields belong only to
 * the writer, and removed fields have no owner (upstream: FieldManager.UpdateNoErrors). It never fails; at worst there
 * are no managed fields afterwards. A write that changes nothing leaves the entries unchanged, including their time.
 * `[]` clears them, and no writes are tracked until the next apply.
 */
export function trackWrite(options: TrackOptions): ApiObject {
  const { old, new: object, subresource } = options;
  const given = object.metadata.managedFields;
  const stored = old?.metadata.managedFields;
  const entries =
    subresource === '' && isReset(given)
      ? []
      : ((subresource === '' ? entriesOrNone(given) : undefined) ?? entriesOrNone(stored) ?? []);
  if (entries.length === 0 && old !== undefined) return withManagedFields(object, undefined);
  try {
    const tracked = trackUpdate(entries, options, options.manager);
    return withManagedFields(object, writeEntries(tracked, stored));
  } catch (error) {
    if (error instanceof PathElementError) return withManagedFields(object, undefined);
    throw error;
  }
}

function isReset(managedFields: readonly unknown[] | undefined): boolean {
  if (managedFields === undefined) return false;
  const [first] = managedFields;
  return (
    managedFields.length === 0 || (managedFields.length === 1 && isRecord(first) && Object.keys(first).length === 0)
  );
}

function entriesOrNone(managedFields: readonly unknown[] | undefined): readonly ManagerEntry[] | undefined {
  if (managedFields === undefined || managedFields.length === 0) return undefined;
  const entries = readEntries(managedFields);
  return typeof entries === 'string' || entries.length === 0 ? undefined : entries;
}

export function withManagedFields<T extends ApiObject>(object: T, managedFields: ManagedFieldsEntry[] | undefined): T {
  if (object.metadata.managedFields === managedFields) return object;
  const { managedFields: _, ...metadata } = object.metadata;
  return { ...object, metadata: managedFields === undefined ? metadata : { ...metadata, managedFields } };
}

/** Returns the entries after an ordinary write from `old` to `new`. */
export function trackUpdate(
  entries: readonly ManagerEntry[],
  options: Omit<TrackOptions, 'manager'>,
  manager: string,
): readonly ManagerEntry[] {
  const { schema, old, new: object, apiVersion } = options;
  const filter = resetSet(options.resetFields);
  const comparison = filtered(
    old === undefined
      ? { changed: wholeFields(schema, object, 'kept'), removed: undefined }
      : compareFields(schema, old, object),
    filter,
  );
  const known = ofVersions(entries, apiVersion, options.versions);
  const fields = difference(comparison.changed, neverOwned);
  if (fields === undefined) return capUpdates(withoutFields(known, comparison));
  const entry: ManagerEntry = {
    manager: manager === '' ? 'unknown' : manager,
    operation: 'Update',
    apiVersion,
    subresource: options.subresource,
    time: formatTime(options.nowMs),
    fields,
  };
  // The writer gets all changed fields below. Not taking them from its entry first leaves a set that it has as it is.
  const writer = fields === comparison.changed ? known.find((each) => isSameManager(each, entry)) : undefined;
  const others = withoutFields(known, comparison, writer);
  const previous = others.find((other) => isSameManager(other, entry));
  if (previous === undefined) return capUpdates([...others, entry]);
  return capUpdates(
    others.map((other) => (other === previous ? { ...entry, fields: union(previous.fields, fields) ?? leaf } : other)),
  );
}

/** Removes entries of versions that are no longer served, as upstream does. */
export function ofVersions(
  entries: readonly ManagerEntry[],
  apiVersion: string,
  versions: readonly string[] = [],
): readonly ManagerEntry[] {
  const isKnown = (entry: ManagerEntry): boolean =>
    entry.apiVersion === apiVersion || versions.includes(entry.apiVersion);
  return entries.every(isKnown) ? entries : entries.filter(isKnown);
}

/**
 * Returns the entries without fields that another manager than `writer` changed or that were removed. Empty entries are
 * dropped.
 */
export function withoutFields(
  entries: readonly ManagerEntry[],
  { changed, removed }: Comparison,
  writer?: ManagerEntry,
): readonly ManagerEntry[] {
  if (changed === undefined && removed === undefined) return entries;
  const rest: ManagerEntry[] = [];
  for (const entry of entries) {
    const fields = difference(entry === writer ? entry.fields : difference(entry.fields, changed), removed);
    if (fields === entry.fields) rest.push(entry);
    else if (fields !== undefined) rest.push({ ...entry, fields, written: undefined });
  }
  return rest;
}

export function filtered({ changed, removed }: Comparison, filter: FieldSet | undefined): Comparison {
  return { changed: recursiveDifference(changed, filter), removed: recursiveDifference(removed, filter) };
}

const resetSets = new Map<string, FieldSet | undefined>();

/** Returns the fields to leave out. The result is cached per list. */
export function resetSet(names: readonly string[]): FieldSet | undefined {
  if (names.length === 0) return undefined;
  const key = names.join(' ');
  let set = resetSets.get(key);
  if (set === undefined) {
    set = fieldSetOfNames(names);
    resetSets.set(key, set);
  }
  return set;
}

/** Fields that identify the object or that only the server writes (upstream: stripMetaManager). */
export const neverOwned = fieldSetOfNames([
  'apiVersion',
  'kind',
  'metadata',
  ...[
    'name',
    'namespace',
    'creationTimestamp',
    'selfLink',
    'uid',
    'clusterName',
    'generation',
    'managedFields',
    'resourceVersion',
  ].map((name) => `metadata.${name}`),
]);

/**
 * Returns the object to store. It is `old` if only the times of managed fields differ, so that nothing is written
 * (upstream: IgnoreManagedFieldsTimestampsTransformer). It is called after strategy and admission.
 */
export function unlessOnlyTimes(old: ApiObject, object: ApiObject): ApiObject {
  if (old === object) return old;
  const before = old.metadata.managedFields ?? [];
  const after = object.metadata.managedFields ?? [];
  if (before.length !== after.length) return object;
  const timeless = (entry: ManagedFieldsEntry): object => ({ ...entry, time: undefined });
  if (before !== after && !before.every((entry, index) => equalJson(timeless(entry), timeless(after[index] ?? {}))))
    return object;
  return equalJson(withManagedFields(old, undefined), withManagedFields(object, undefined)) ? old : object;
}
