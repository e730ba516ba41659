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

/** How often writes without a version are retried after a conflict. */
const UNCONDITIONAL_ATTEMPTS = 20;

/** How the new version of an object is made from the existing one. */
export interface Change {
  /** The body, in the subresource's own kind if it has one. Undefined: there is nothing to write. */
  readonly propose: (current: ApiObject) => ApiObject | Promise<ApiObject>;
  /** The field owners are already set (server-side apply). */
  readonly tracked?: boolean;
  readonly isPatch?: boolean;
  /** The version that the client has read, if given: a newer version is not overwritten. */
  readonly conditional: boolean;
  /**
   * Set for an action of the server, such as binding, which may set fields that users may not: without update rules,
   * admission, field owners and a new generation (as upstream's binding).
   */
  readonly bySystem?: boolean;
}

/** PUT. */
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
    // Checked only if the object exists: a create has no resource version.
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
  // Named as in paths, as upstream has it here (upstream: registry/generic/registry store.go Update).
  return invalid({ ...kindOf(definition), kind: definition.type.plural }, name, errors.list);
}

async function created(tools: WriteTools, request: ResourceRequest, object: ApiObject): Promise<Served> {
  const { resourceVersion: _, ...metadata } = object.metadata;
  return createDecoded(tools, request, { ...object, metadata }, 'update');
}

/** Reads, changes, validates and stores; undefined if the object does not exist. */
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
    `${request.definition.type.plural} ${JSON.stringify(request.name)} is being written by others all the time; please try again`,
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

/** The stored version is no longer the storage version: a write without changes converts it. */
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
 * The object as the mutating plugins leave it. Of a subresource with a kind of its own they see the body, which they
 * may not change here.
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
  // In the result of a patch, another uid is a changed field.
  if (isPatch !== true && uid !== '' && uid !== old.metadata.uid) throw otherUid(request, uid, old.metadata.uid);
  if (resourceVersion !== '' && resourceVersion !== old.metadata.resourceVersion)
    throw staleObject(definition.type, name);
}

/**
 * A body with a uid is about that object only, also when there is none (upstream: rest.DefaultUpdatedObjectInfo
 * Preconditions).
 */
function otherUid({ definition, name }: ResourceRequest, uid: string, found: string): ApiStatusError {
  return conflict(
    definition.type,
    name,
    `StorageError: invalid object, Code: 4, Key: ${name}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: ${uid}, UID in object meta: ${found}`,
  );
}

/** Generation counts changes of what is wanted: all but metadata and status. */
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
    // What is answered with is what was written, not what stood there: clients look at it for the finalizers that are
    // left.
    return removed ? { ...servedUnstored(definition, object), created: false } : 'stale';
  }
  const allocated =
    request.subresource === '' ? await definition.allocate?.(object, old, tools.claims(context.dryRun)) : undefined;
  const whole = allocated?.object ?? object;
  // Undefined while it is not known whether the store has it: then what was claimed stays claimed, and is found to be
  // in vain later, if it is.
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
    // What an initializer refused is stored before it goes, so that its creator reads why.
    if (initializersOf(result.served.object.metadata)?.result !== undefined)
      await removeObject(tools, definition, result.served);
    return await shown(request, result.served);
  } finally {
    if (stored !== undefined) await allocated?.settle(stored);
  }
}

/** Deleted already, and nothing holds it any longer: the write that let go of it is its end. */
function isReleased(definition: ResourceRequest['definition'], object: ApiObject): boolean {
  const { deletionTimestamp, deletionGracePeriodSeconds = 0, finalizers = [] } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds > 0 || finalizers.length > 0) return false;
  return definition.rules.holdDeletion?.(object) === undefined;
}

async function shown({ definition }: ResourceRequest, served: Served): Promise<Written> {
  const { object, json } = await shownServed(definition, served);
  return { object, json, created: false };
}
