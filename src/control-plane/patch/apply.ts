import { isRecord } from '../../base/json-record.ts';
import { runThrough } from '../../base/steps.ts';
import type { Steps } from '../../base/steps.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { goQuote } from '../../api/go-quote.ts';
import type { ObjectSchema } from '../../api/schema/schema.ts';
import { ApiStatusError, badRequest } from '../../api/status/api-status-error.ts';
import { formatTime } from '../../api/time.ts';
import { compareFields } from './compare-fields.ts';
import { difference, intersection, leaf, pathsOf, recursiveDifference, union } from './field-set.ts';
import type { FieldSet } from './field-set.ts';
import { equalJson, jsonTypeName } from './json-value.ts';
import type { JsonObject } from './json-value.ts';
import { forgiveLastApplied, refreshLastApplied } from './last-applied.ts';
import { compareTexts, isSameManager, readEntries, writeEntries } from './managed-entries.ts';
import type { ManagerEntry } from './managed-entries.ts';
import {
  filtered,
  neverOwned,
  ofVersions,
  resetSet,
  trackUpdate,
  withManagedFields,
  withoutFields,
} from './managed-fields.ts';
import { formatPath } from './path-element.ts';
import { mergeConfig, removeFields, withNamedFields } from './typed-merge.ts';
import { appliedFields } from './typed-fields.ts';
import { formatConfigErrors, validateConfig } from './validate-config.ts';

export interface ApplyOptions {
  readonly schema: ObjectSchema;
  readonly kind: { readonly group: string; readonly version: string; readonly kind: string };
  /** The existing object; absent if the apply creates it. */
  readonly live: ApiObject | undefined;
  /** The configuration as the client sent it, not decoded. */
  readonly config: unknown;
  readonly manager: string;
  /** Whether fields of other managers are taken over. */
  readonly force: boolean;
  readonly subresource: string;
  readonly nowMs: number;
  /** The same as for `trackWrite`. */
  readonly resetFields: readonly string[];
  readonly versions?: readonly string[];
}

interface Conflict {
  readonly entry: ManagerEntry;
  readonly path: readonly string[];
}
type Outcome =
  | { readonly object: JsonObject; readonly entries: readonly ManagerEntry[]; readonly changed: boolean }
  | { readonly conflicts: readonly Conflict[] };

/**
 * Server-side apply. The configuration is merged into the live object by its schema. Fields that this manager applied
 * before but not now are removed, unless another manager owns them too. The manager owns the applied fields, alone or
 * shared with managers that set the same value. The result is not decoded and defaulted yet. Throws `ApiStatusError`:
 * Conflict with a cause for each field of another manager, BadRequest, or an error without a reason if the
 * configuration does not match the schema (upstream: FieldManager.Apply).
 */
export function applyPatch(options: ApplyOptions): { readonly object: ApiObject } {
  return runThrough(applyGradually(options));
}

/** Does the same as `applyPatch`, in short steps for objects of any size. */
export function* applyGradually(options: ApplyOptions): Steps<{ readonly object: ApiObject }> {
  const config = checkedConfig(options);
  yield;
  const { live } = options;
  const stored = live?.metadata.managedFields;
  const base = live === undefined ? undefined : withManagedFields(live, undefined);
  const entries = entriesBefore(options, base);
  yield;
  const outcome = yield* applyOrConflict(options, { base, config, entries, force: options.force });
  const done =
    'conflicts' in outcome
      ? yield* afterConflicts(options, { base, config, entries, conflicts: outcome.conflicts })
      : outcome;
  // The result of the merge is an object with metadata, because both sides were checked against one schema.
  const object = done.object as unknown as ApiObject;
  const shown = options.manager === 'kubectl' ? refreshLastApplied(object, config) : object;
  return {
    object: withManagedFields(
      { ...shown, metadata: shown.metadata ?? {} } as ApiObject,
      writeEntries(done.entries, stored),
    ),
  };
}

function checkedConfig(options: ApplyOptions): JsonObject {
  const { config, schema, kind } = options;
  if (!isRecord(config))
    throw badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal ${jsonTypeName(config)} into Go value of type map[string]interface {}`,
    );
  const given = formatKind({ apiVersion: textOr(config['apiVersion']), kind: textOr(config['kind']) });
  const expected = formatKind({ apiVersion: versionOf(options), kind: kind.kind });
  if (given !== expected) throw badRequest(`invalid object type: ${given}`);
  const metadata = isRecord(config['metadata']) ? config['metadata'] : {};
  if (Array.isArray(metadata['managedFields'])) throw badRequest('metadata.managedFields must be nil');
  const errors = validateConfig(schema, config);
  if (errors.length === 0) return config;
  const place = `${textOr(metadata['namespace'])}/${textOr(metadata['name'])}; ${given}`;
  throw new ApiStatusError('Unknown', `failed to create typed patch object (${place}): ${formatConfigErrors(errors)}`);
}

const textOr = (value: unknown): string => (typeof value === 'string' ? value : '');
const versionOf = ({ kind }: ApplyOptions): string =>
  kind.group === '' ? kind.version : `${kind.group}/${kind.version}`;

/**
 * Formats a kind as `apps/v1, Kind=Deployment`, as `/v1, Kind=Pod` in the core group, or as `/, Kind=` if it is
 * missing.
 */
function formatKind({ apiVersion, kind }: { readonly apiVersion: string; readonly kind: string }): string {
  return `${apiVersion.includes('/') ? apiVersion : `/${apiVersion}`}, Kind=${kind}`;
}

/** Returns the managed fields. The fields of an object without them belong to `before-first-apply`. */
function entriesBefore(options: ApplyOptions, base: ApiObject | undefined): readonly ManagerEntry[] {
  const apiVersion = versionOf(options);
  const read = readEntries(options.live?.metadata.managedFields);
  const entries = typeof read === 'string' ? [] : ofVersions(read, apiVersion, options.versions);
  if (entries.length > 0 || base === undefined) return entries;
  return trackUpdate([], { ...options, apiVersion, old: undefined, new: base }, 'before-first-apply');
}

interface Attempt {
  readonly base: ApiObject | undefined;
  readonly config: JsonObject;
  readonly entries: readonly ManagerEntry[];
  readonly force: boolean;
}

function* applyOrConflict(options: ApplyOptions, { base, config, entries, force }: Attempt): Steps<Outcome> {
  const { schema } = options;
  const live = (base ?? {}) as unknown as JsonObject;
  const filter = resetSet(options.resetFields);
  const fields = recursiveDifference(appliedFields(schema, config), filter);
  yield;
  const mine: ManagerEntry = {
    manager: options.manager === '' ? 'unknown' : options.manager,
    operation: 'Apply',
    apiVersion: versionOf(options),
    subresource: options.subresource,
    time: undefined,
    fields: fields ?? leaf,
  };
  const previous = entries.find((entry) => isSameManager(entry, mine));
  const others = entries.filter((entry) => entry !== previous);
  const owned = others.reduce((all, entry) => union(all, entry.fields), fields);
  const merged = mergeConfig(schema, live, config);
  yield;
  const object = yield* prune(schema, merged, { last: previous?.fields, owned });
  yield;
  const comparison = filtered(compareFields(schema, live, object, 'changed'), filter);
  yield;
  if (!force) {
    const conflicts = conflictsOf(others, comparison.changed);
    if (conflicts.length > 0) return { conflicts };
  }
  const rest = withoutFields(others, comparison);
  const kept = difference(fields, neverOwned);
  const changed = base === undefined || !equalJson(live, object);
  const time = changed ? formatTime(options.nowMs) : previous?.time;
  const result = kept === undefined ? rest : [...rest, sameAsBefore(previous, { ...mine, fields: kept, time })];
  // Merging two objects gives an object; the compiler cannot infer that.
  return { object: (changed ? object : live) as JsonObject, entries: result, changed };
}

/** Returns the old entry if nothing changed, so that nothing must be written. */
function sameAsBefore(previous: ManagerEntry | undefined, entry: ManagerEntry): ManagerEntry {
  return previous !== undefined && previous.time === entry.time && equalJson(previous.fields, entry.fields)
    ? previous
    : entry;
}

function conflictsOf(others: readonly ManagerEntry[], changed: FieldSet | undefined): readonly Conflict[] {
  return others.flatMap((entry) => pathsOf(intersection(entry.fields, changed)).map((path) => ({ entry, path })));
}

/** Removes fields that the manager applied last time and that have no owner now. */
function* prune(
  schema: ObjectSchema,
  merged: unknown,
  { last, owned }: { readonly last: FieldSet | undefined; readonly owned: FieldSet | undefined },
): Steps<unknown> {
  // The parents of fields that are all owned are owned too.
  if (difference(last, owned) === undefined) return merged;
  const named = (set: FieldSet | undefined): FieldSet | undefined => withNamedFields(schema, set);
  const lastNamed = named(last);
  const ownedNamed = named(owned);
  if (lastNamed === undefined || difference(lastNamed, ownedNamed) === undefined) return merged;
  const without = (set: FieldSet | undefined): unknown =>
    set === undefined ? merged : removeFields(schema, merged, set);
  yield;
  const all = named(appliedFields(schema, merged));
  yield;
  const bare = named(appliedFields(schema, without(lastNamed)));
  yield;
  // Restore fields that other managers own, with their parents ...
  const left = named(appliedFields(schema, without(difference(difference(all, bare), ownedNamed))));
  yield;
  // ... and fields that were never this manager's but were inside of its fields.
  return without(intersection(difference(all, left), lastNamed));
}

interface Refused {
  readonly base: ApiObject | undefined;
  readonly config: JsonObject;
  readonly entries: readonly ManagerEntry[];
  readonly conflicts: readonly Conflict[];
}

/**
 * Returns the remaining conflicts. kubectl may take over what it set by client-side apply, according to the annotation.
 */
function* afterConflicts(
  options: ApplyOptions,
  { base, config, entries, conflicts }: Refused,
): Steps<Exclude<Outcome, { conflicts: unknown }>> {
  const forgiven =
    options.manager === 'kubectl' && base !== undefined
      ? forgiveLastApplied(options.schema, base, versionOf(options))
      : undefined;
  const left = forgiven === undefined ? conflicts : conflicts.filter(({ path }) => !forgiven(path));
  if (left.length > 0) throw conflictError(left);
  yield;
  const forced = yield* applyOrConflict(options, { base, config, entries, force: true });
  if ('conflicts' in forced) throw conflictError(forced.conflicts);
  return forced;
}

/** The maximum number of reported conflicts. Every field may conflict with every other manager. */
const MOST_NAMED = 1000;

function conflictError(conflicts: readonly Conflict[]): ApiStatusError {
  const sorted = [...conflicts].sort(
    (left, right) =>
      compareTexts(left.entry.manager, right.entry.manager) ||
      compareTexts(left.entry.operation, right.entry.operation),
  );
  const causes = sorted.slice(0, MOST_NAMED).map(({ entry, path }) => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${formatManager(entry)}`,
    field: formatPath(path),
  }));
  return new ApiStatusError('Conflict', conflictMessage(sorted), { causes });
}

function conflictMessage(conflicts: readonly Conflict[]): string {
  const [first] = conflicts;
  if (conflicts.length === 1 && first !== undefined)
    return `Apply failed with 1 conflict: conflict with ${formatManager(first.entry)}: ${formatPath(first.path)}`;
  const lines: string[] = [];
  for (const [index, { entry, path }] of conflicts.slice(0, MOST_NAMED).entries()) {
    if (entry !== conflicts[index - 1]?.entry) lines.push(`conflicts with ${formatManager(entry)}:`);
    lines.push(`- ${formatPath(path)}`);
  }
  return `Apply failed with ${conflicts.length} conflicts: ${lines.join('\n')}`;
}

function formatManager({ manager, subresource, operation, apiVersion }: ManagerEntry): string {
  const named = subresource === '' ? goQuote(manager) : `${goQuote(manager)} with subresource ${goQuote(subresource)}`;
  return operation === 'Update' ? `${named} using ${apiVersion}` : named;
}
