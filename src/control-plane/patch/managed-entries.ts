import { isRecord } from '../../base/json-record.ts';
import type { ManagedFieldsEntry } from '../../api/core/meta.ts';
import { leaf, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { canonicalFieldSet } from './path-element.ts';
import { equalJson } from './json-value.ts';
import { SharedSets } from './shared-sets.ts';

/** One entry of `metadata.managedFields`. Entries and the list are immutable; unchanged parts stay the same object. */
export interface ManagerEntry {
  readonly manager: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  /** RFC 3339, in whole seconds. */
  readonly time: string | undefined;
  readonly fields: FieldSet;
  /** The original entry of the object, while it is unchanged. */
  readonly written?: ManagedFieldsEntry;
}

/** The maximum number of update entries; older ones are merged (upstream: DefaultMaxUpdateManagers). */
const MAX_UPDATE_ENTRIES = 10;
const canonical = new WeakMap<object, FieldSet>();
const sharedSets = new SharedSets();

/** The entries of an object. A string is the API server's error message. */
export function readEntries(managedFields: readonly unknown[] | undefined): readonly ManagerEntry[] | string {
  const entries: ManagerEntry[] = [];
  const places = new Map<string, number[]>();
  const isAlone = managedFields?.length === 1;
  for (const [index, written] of (managedFields ?? []).entries()) {
    const entry = readEntry(written, index);
    if (typeof entry === 'string') return entry;
    if (isAlone) return [entry];
    // A later entry of the same manager replaces the earlier one.
    const key = managerKey(entry);
    const alike = places.get(key) ?? [];
    const twin = alike.find((place) => isSameManager(entries[place] ?? entry, entry));
    if (twin === undefined) places.set(key, [...alike, entries.push(entry) - 1]);
    else entries[twin] = entry;
  }
  return entries;
}

function readEntry(written: unknown, index: number): ManagerEntry | string {
  if (!isRecord(written)) return 'operation must be `Apply` or `Update`';
  const {
    manager = '',
    operation,
    apiVersion = '',
    subresource = '',
    time,
    fieldsType = '',
    fieldsV1,
  } = written as ManagedFieldsEntry;
  if (operation !== 'Apply' && operation !== 'Update') return 'operation must be `Apply` or `Update`';
  if (apiVersion === '') return 'apiVersion must not be empty';
  if (fieldsType === '') return `missing fieldsType in managed fields entry ${index}`;
  if (fieldsType !== 'FieldsV1')
    return `invalid fieldsType ${JSON.stringify(fieldsType)} in managed fields entry ${index}`;
  const fields = readFields(fieldsV1);
  if (typeof fields === 'string') return `error decoding set: ${fields}`;
  return {
    manager,
    operation,
    apiVersion,
    subresource,
    time,
    fields,
    written: fields === fieldsV1 ? (written as ManagedFieldsEntry) : undefined,
  };
}

function readFields(fieldsV1: unknown): FieldSet | string {
  if (fieldsV1 === undefined || fieldsV1 === null) return leaf;
  if (typeof fieldsV1 !== 'object') return 'expected a map of fields';
  const known = canonical.get(fieldsV1);
  if (known !== undefined) return known;
  const fields = canonicalFieldSet(fieldsV1);
  if (typeof fields === 'string') return fields;
  const shared = sharedSet(fields);
  canonical.set(fieldsV1, shared);
  return shared;
}

/** The key of an entry's manager. Values that are not strings, which undecoded objects may have, are ignored. */
function managerKey({ manager, operation, subresource, apiVersion }: ManagerEntry): string {
  const parts: readonly unknown[] = [manager, operation, subresource, operation === 'Apply' ? '' : apiVersion];
  return JSON.stringify(parts.map((part) => (typeof part === 'string' ? part : null)));
}

/** Whether two entries belong to one manager. Entries of apply match in any version. */
export function isSameManager(left: ManagerEntry, right: ManagerEntry): boolean {
  return (
    left.manager === right.manager &&
    left.operation === right.operation &&
    left.subresource === right.subresource &&
    (left.operation === 'Apply' || left.apiVersion === right.apiVersion)
  );
}

/**
 * Returns the entries for the object, sorted by operation, time and manager; undefined for none. If nothing changed, it
 * is the list `before` itself.
 */
export function writeEntries(
  entries: readonly ManagerEntry[],
  before: readonly unknown[] | undefined,
): ManagedFieldsEntry[] | undefined {
  if (entries.length === 0) return undefined;
  const written = [...entries].sort(compareEntries).map((entry) => entry.written ?? writeEntry(entry));
  return before !== undefined && equalJson(written, before) ? (before as ManagedFieldsEntry[]) : written;
}

/** The entries of a stored object, with shared field sets. */
export function shareManagedFields<T extends { readonly managedFields?: ManagedFieldsEntry[] }>(metadata: T): T {
  const { managedFields } = metadata;
  if (managedFields === undefined || managedFields.length === 0) return metadata;
  return { ...metadata, managedFields: managedFields.map(shareEntry) };
}

function shareEntry(entry: ManagedFieldsEntry): ManagedFieldsEntry {
  const fields = readFields(entry.fieldsV1);
  return typeof fields === 'string' || entry.fieldsV1 === undefined ? entry : { ...entry, fieldsV1: fields };
}

function sharedSet(fields: FieldSet): FieldSet {
  const shared = sharedSets.share(fields);
  canonical.set(shared, shared);
  return shared;
}

function writeEntry({ manager, operation, apiVersion, subresource, time, fields }: ManagerEntry): ManagedFieldsEntry {
  return {
    ...(manager !== '' && { manager }),
    operation,
    apiVersion,
    ...(time !== undefined && { time }),
    fieldsType: 'FieldsV1',
    fieldsV1: sharedSet(fields),
    ...(subresource !== '' && { subresource }),
  };
}

function compareEntries(left: ManagerEntry, right: ManagerEntry): number {
  return (
    compareTexts(left.operation, right.operation) ||
    secondsOf(left.time) - secondsOf(right.time) ||
    compareTexts(left.manager, right.manager) ||
    compareTexts(left.apiVersion, right.apiVersion) ||
    compareTexts(left.subresource, right.subresource)
  );
}

export function compareTexts(left: string, right: string): number {
  return left < right ? -1 : left > right ? 1 : 0;
}

const secondsOf = (time: string | undefined): number =>
  time === undefined ? 0 : Math.floor((Date.parse(time) || 0) / 1000);

/**
 * Merges the oldest updates of each version into its entry `ancient-changes`, until there are at most ten updates. The
 * same field can have other paths in another version, so entries of different versions stay apart.
 */
export function capUpdates(entries: readonly ManagerEntry[]): readonly ManagerEntry[] {
  const updates = entries.filter((entry) => entry.operation === 'Update');
  let surplus = updates.length - MAX_UPDATE_ENTRIES;
  if (surplus <= 0) return entries;
  const kept = new Set(entries);
  const oldest = new Map<string, ManagerEntry>();
  for (const entry of updates.sort(compareAges)) {
    if (surplus === 0) break;
    const older = oldest.get(entry.apiVersion);
    const merged = older === undefined ? entry : mergedUpdates(older, entry);
    oldest.set(entry.apiVersion, merged);
    if (older === undefined) continue;
    kept.delete(older);
    kept.delete(entry);
    kept.add(merged);
    surplus--;
  }
  return [...kept];
}

const ANCIENT = 'ancient-changes';

function mergedUpdates(older: ManagerEntry, { apiVersion, time, fields }: ManagerEntry): ManagerEntry {
  const both = union(older.fields, fields) ?? leaf;
  return { manager: ANCIENT, operation: 'Update', apiVersion, subresource: '', time, fields: both };
}

/** Orders updates from the oldest to the newest. What was merged before comes first. */
function compareAges(left: ManagerEntry, right: ManagerEntry): number {
  const isMerged = ({ manager, subresource }: ManagerEntry): boolean => manager === ANCIENT && subresource === '';
  return Number(isMerged(right)) - Number(isMerged(left)) || compareEntries(left, right);
}
