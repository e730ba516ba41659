import type { ApiObject } from '../../../api/client/resource-type.ts';
import { initializersOf } from '../../../api/core/initializers.ts';
import { apiVersionOf } from '../../../api/client/resource-type.ts';
import { ApiStatusError, conflict, invalid, notFound, staleObject } from '../../../api/status/api-status-error.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import { trackWrite, unlessOnlyTimes } from '../../patch/managed-fields.ts';
import { createDecoded } from './create-object.ts';
import { decodeBody } from './decode-body.ts';
import { removeObject } from './delete-object.ts';
import {
  checkPlace,
  metadataForUpdate,
  requireName,
  validateMetadata,
  validateMetadataUpdate,
} from './object-metadata.ts';
import type { ResourceRequest, Served, WriteBody, Written } from '../registry.ts';
import { equalJson } from '../../patch/json-value.ts';
import type { CachedObject } from '../cache/stored-form.ts';
import { bodyKind, otherVersions, resetFields, shownAs, validatePart, writePart } from '../subresources.ts';
import {
  admitMutating,
  admitValidating,
  attributesOf,
  currentObject,
  kindOf,
  preparePut,
  requestFacts,
  requireCreate,
  retryOnStale,
  servedAsIfStored,
  servedUnstored,
  shownObject,
  shownServed,
  withLongChecks,
} from './write-tools.ts';
import type { WriteTools } from './write-tools.ts';

/** The number of attempts of a write without a version after conflicts. */
const UNCONDITIONAL_ATTEMPTS = 20;

/** The change of an object, computed from its current version. */
export interface Change {
  /**
   * Returns the new body, in the subresource's own kind if it has one. Undefined means that nothing must be written.
   */
  readonly propose: (current: ApiObject) => ApiObject | Promise<ApiObject>;
  /** Whether the field owners are already set (server-side apply). */
  readonly tracked?: boolean;
  readonly isPatch?: boolean;
  /** Whether the client named the version that it has read. A newer version is then not overwritten. */
  readonly conditional: boolean;
  /**
   * Whether the server itself makes the change, as in a binding. It may set fields that users may not, so update rules,
   * admission, field owners and a new generation are skipped (as in upstream's binding).
   */
  readonly bySystem?: boolean;
}

/** Replaces an object (PUT). */
export async function updateObject(tools: WriteTools, request: ResourceRequest, body: WriteBody): Promise<Written> {
  const { definition, namespace, name, subresource, context } = request;
  const proposed = decodeBody(body, bodyKind(definition, subresource), context);
  await tools.pace.rest();
  checkPlace(proposed, { namespaced: definition.type.namespaced, namespace, name });
  requireName(proposed, name);
  const { resourceVersion = '' } = proposed.metadata;
  const whole = {
    ...proposed,
    metadata: {
      ...proposed.metadata,
      name,
      namespace: definition.type.namespaced ? namespace : '',
    },
  };
  const propose = (): ApiObject => {
    // This is checked only if the object exists, because a create has no resource version.
    const isOwnKind = subresource === '' || subresource === 'status';
    if (isOwnKind && definition.rules.requiresResourceVersion === true && resourceVersion === '')
      throw versionMissing(request);
    return whole;
  };
  const written = await changeObject(tools, request, { propose, conditional: resourceVersion !== '' });
  if (written !== undefined) return written;
  if (subresource !== '' || definition.rules.allowCreateOnUpdate !== true) throw notFound(definition.type, name);
  if (whole.metadata.uid !== '') throw otherUid(request, whole.metadata.uid, '');
  await requireCreate(tools, request);
  const { object, json } = await created(tools, request, whole);
  return { object, json, created: true };
}

function versionMissing({ definition, name }: ResourceRequest): ApiStatusError {
  const errors = new FieldErrors();
  errors.invalid('metadata.resourceVersion', 0, 'must be specified for an update');
  // Upstream names the resource here as in paths (upstream: registry/generic/registry store.go Update).
  return invalid({ ...kindOf(definition), kind: definition.type.plural }, name, errors.list);
}

async function created(tools: WriteTools, request: ResourceRequest, object: ApiObject): Promise<Served> {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return createDecoded(tools, request, { ...object, metadata }, 'update');
}

/** Reads, changes, validates and stores an object. Returns undefined if it does not exist. */
export async function changeObject(
  tools: WriteTools,
  request: ResourceRequest,
  change: Change,
): Promise<Written | undefined> {
  for (let attempt = 1; attempt <= UNCONDITIONAL_ATTEMPTS; attempt++) {
    const result = await retryOnStale(tools, async (confirmed) => {
      const stored = tools.definitions.storedOf(request.definition);
      const current = await currentObject(tools, stored, request, confirmed);
      if (current === undefined) return confirmed ? 'absent' : 'stale';
      return changeCurrent(tools, request, current, change);
    });
    if (result === 'absent') return undefined;
    if (result !== 'stale') return result;
    if (change.conditional) throw staleObject(request.definition.type, request.name);
  }
  throw new ApiStatusError(
    'Conflict',
    `${request.definition.type.plural} ${JSON.stringify(request.name)} is changed too often by other clients; please try again`,
  );
}

async function changeCurrent(
  tools: WriteTools,
  request: ResourceRequest,
  current: CachedObject,
  change: Change,
): Promise<Written | 'stale'> {
  const { definition, context, subresource, name } = request;
  const old = await shownObject(definition, current.object);
  const body = await change.propose(old);
  await tools.pace.rest();
  if (change.bySystem === true)
    return equalJson(body, old) ? shown(request, current) : store(tools, request, { object: body, old, current });
  checkPreconditions(request, body, old, change);
  const merged = writePart(definition, subresource, { old, body, facts: requestFacts(tools, context) });
  await tools.pace.rest();
  const proposed = { ...merged, metadata: metadataForUpdate(merged.metadata, old.metadata) };
  const tracked = change.tracked === true ? proposed : ownedByWriter(tools, request, proposed, old);
  await tools.pace.rest();
  const object = countGeneration(request, await admitted(tools, request, { object: tracked, old, body }), old);
  await tools.pace.rest();
  const errors = await withLongChecks(request, { object, old }, [
    ...validateMetadata(definition, object.metadata, old.metadata),
    ...validateMetadataUpdate(object.metadata, old.metadata),
    ...validatePart(definition, subresource, { object, old, policy: tools.policy }),
  ]);
  await tools.pace.rest();
  if (errors.length > 0) throw invalid(kindOf(definition), name, errors);
  if (subresource === '') for (const warning of definition.rules.warnings?.(object, old) ?? []) context.warn(warning);
  await tools.pace.rest();
  await admitValidating(
    tools,
    attributesOf(request, 'UPDATE', { object: shownAs(definition, subresource, object, body), oldObject: old }),
  );
  await tools.pace.rest();
  if (unlessOnlyTimes(old, object) === old && !isStale(definition, current)) return shown(request, current);
  return store(tools, request, { object, old, current });
}

/** Whether the stored version is no longer the storage version. A write without changes then converts the object. */
function isStale({ storedAs, type }: ResourceRequest['definition'], { object }: CachedObject): boolean {
  return storedAs?.version !== undefined && object.apiVersion !== apiVersionOf({ ...type, version: storedAs.version });
}

function ownedByWriter(
  tools: WriteTools,
  { definition, subresource, context }: ResourceRequest,
  object: ApiObject,
  old: ApiObject,
): ApiObject {
  return trackWrite({
    schema: definition.schema,
    apiVersion: apiVersionOf(definition.type),
    old,
    new: object,
    manager: context.fieldManager,
    subresource,
    nowMs: tools.clock.nowMs(),
    resetFields: resetFields(definition, subresource),
    versions: otherVersions(definition),
  });
}

/**
 * Runs the mutating plugins and returns the resulting object. For a subresource with a kind of its own they get the
 * body, which they may not change.
 */
async function admitted(
  tools: WriteTools,
  request: ResourceRequest,
  { object, old, body }: { object: ApiObject; old: ApiObject; body: ApiObject },
): Promise<ApiObject> {
  const { definition, subresource } = request;
  const seen = shownAs(definition, subresource, object, body);
  const mutated = await admitMutating(tools, attributesOf(request, 'UPDATE', { object: seen, oldObject: old }));
  if (mutated === undefined || mutated === seen || seen !== object) return object;
  return definition.rules.applyDefaults(mutated);
}

function checkPreconditions(request: ResourceRequest, body: ApiObject, old: ApiObject, { isPatch }: Change): void {
  const { definition, name } = request;
  const { uid, resourceVersion = '' } = body.metadata;
  // In the result of a patch, another UID is a changed field.
  if (isPatch !== true && uid !== '' && uid !== old.metadata.uid) throw otherUid(request, uid, old.metadata.uid);
  if (resourceVersion !== '' && resourceVersion !== old.metadata.resourceVersion)
    throw staleObject(definition.type, name);
}

/**
 * Builds the error for a body with another UID. A body with a UID applies only to that object, even if no object exists
 * (upstream: rest.DefaultUpdatedObjectInfo Preconditions).
 */
function otherUid({ definition, name }: ResourceRequest, uid: string, found: string): ApiStatusError {
  return conflict(
    definition.type,
    name,
    `StorageError: invalid object, Code: 4, Key: ${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`,
  );
}

/** Increments the generation if the desired state changed: everything except metadata and status. */
function countGeneration({ definition, subresource }: ResourceRequest, object: ApiObject, old: ApiObject): ApiObject {
  const { generation } = object.metadata;
  if (definition.countsGeneration !== true || subresource === 'status' || generation !== old.metadata.generation)
    return object;
  const wanted = ({ metadata: _, status: __, ...rest }: ApiObject & { status?: unknown }): object => rest;
  return equalJson(wanted(object), wanted(old)) && definition.alsoCounts?.(object, old) !== true
    ? object
    : { ...object, metadata: { ...object.metadata, generation: (generation ?? 0) + 1 } };
}

interface Replacement {
  readonly object: ApiObject;
  readonly old: ApiObject;
  readonly current: CachedObject;
}

async function store(
  tools: WriteTools,
  request: ResourceRequest,
  { object, old, current }: Replacement,
): Promise<Written | 'stale'> {
  const { definition, context } = request;
  if (isReleased(definition, object)) {
    if (context.dryRun) return { ...servedUnstored(definition, object), created: false };
    const removed = await removeObject(tools, definition, current);
    // The response contains the written object, not the earlier one, because clients read the remaining finalizers.
    return removed ? { ...servedUnstored(definition, object), created: false } : 'stale';
  }
  const allocated =
    request.subresource === '' ? await definition.allocate?.(object, old, tools.claims(context.dryRun)) : undefined;
  const whole = allocated?.object ?? object;
  // It is undefined while it is unknown whether the store has the object. Its allocations are then kept; the repair
  // releases them later if they are unused.
  let stored: boolean | undefined = false;
  try {
    if (context.dryRun) return { ...servedAsIfStored(definition, whole, current), created: false };
    const put = preparePut(
      tools,
      tools.definitions.storedOf(definition),
      (await definition.storedAs?.toStored(whole)) ?? whole,
      current,
    );
    stored = undefined;
    const result = await put();
    stored = !('conflict' in result);
    if ('conflict' in result) return 'stale';
    // A rejection by an initializer is stored before the object is deleted, so that the creator can read the reason.
    if (initializersOf(result.served.object.metadata)?.result !== undefined)
      await removeObject(tools, definition, result.served);
    return await shown(request, result.served);
  } finally {
    if (stored !== undefined) await allocated?.settle(stored);
  }
}

/** Whether the object is deleted and has no finalizers left, so that this write removes it. */
function isReleased(definition: ResourceRequest['definition'], object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0 || finalizers.length > 0) return false;
  return definition.rules.holdDeletion?.(object) === undefined;
}

async function shown({ definition }: ResourceRequest, served: Served): Promise<Written> {
  const { object, json } = await shownServed(definition, served);
  return { object, json, created: false };
}
