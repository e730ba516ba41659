import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { TurnShare } from '../../../base/turn-share.ts';
import type { ApiObject, ObjectKey } from '../../../api/client/resource-type.ts';
import { apiVersionOf, formatKey } from '../../../api/client/resource-type.ts';
import { measureJson } from '../../../api/measure-json.ts';
import { objectLimits } from '../../../api/object-limits.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { tooManyValues } from '../../../api/status/too-many-values.ts';
import type { FieldError } from '../../../api/validation/field-error.ts';
import type { ClusterPolicy } from '../../../api/validation/cluster-policy.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from '../../model/admission.ts';
import type {
  ActionServices,
  AllocationStore,
  RequestFacts,
  ResourceDefinition,
  AccessQuestions,
} from '../../model/resource-definition.ts';
import { forbiddenRequest } from '../../model/forbidden-request.ts';
import type { RequestContext } from '../../model/request-context.ts';
import type { AuthorizationAttributes } from '../../model/user-info.ts';
import type { Storage } from '../../storage/storage.ts';
import { storageKey } from '../definition-index.ts';
import type { DefinitionIndex } from '../definition-index.ts';
import type { WatchCache } from '../cache/watch-cache.ts';
import type { Homes } from '../homes.ts';
import { guardOf, notFenced } from '../leader-term.ts';
import type { LeaderTerm } from '../leader-term.ts';
import type { ObjectReader } from '../../model/object-reader.ts';
import type { ResourceRequest, Served } from '../registry.ts';
import { CachedObject, storedJson, wireJson } from '../cache/stored-form.ts';

/** The dependencies of all write verbs. */
export interface WriteTools {
  /** The cache of the store of the request's kind. */
  readonly cache: WatchCache;
  readonly storage: Storage;
  readonly term: LeaderTerm | undefined;
  readonly homes: Homes;
  readonly reader: ObjectReader;
  readonly definitions: DefinitionIndex;
  readonly clock: Clock;
  readonly random: Random;
  readonly admission: readonly AdmissionPlugin[];
  readonly claims: (dryRun: boolean) => AllocationStore;
  readonly policy: ClusterPolicy;
  readonly services: ActionServices;
  readonly reviewAccess: (context: RequestContext) => AccessQuestions;
  /**
   * The share of event-loop time for all writes. Each write pauses between its stages, because a large object may take
   * long and many writes may run.
   */
  readonly pace: Pick<TurnShare, 'rest'>;
}

/** Returns the tools for an object of another kind than the request's, which may be in another store. */
export function toolsFor(tools: WriteTools, definition: ResourceDefinition): WriteTools {
  const { cache, storage } = tools.homes.of(definition);
  return { ...tools, cache, storage };
}

export function requestFacts(tools: WriteTools, context: RequestContext): RequestFacts {
  return { user: context.user, nowMs: tools.clock.nowMs() };
}

export function attributesOf(
  request: ResourceRequest,
  operation: AdmissionOperation,
  objects: { readonly object: ApiObject | undefined; readonly oldObject: ApiObject | undefined },
  options: Readonly<Record<string, unknown>> = {},
): AdmissionAttributes {
  const { definition, namespace, subresource, context } = request;
  return {
    operation,
    definition,
    subresource,
    namespace,
    name: request.name === '' ? (objects.object?.metadata.name ?? '') : request.name,
    ...objects,
    options,
    context,
  };
}

/**
 * Throws Forbidden unless the user may create the object that an update or a patch would create. The request was
 * authorized as `update` or `patch` only, before it was known that there is no such object (upstream:
 * handlers/update.go withAuthorization).
 */
export async function requireCreate(
  tools: WriteTools,
  { definition, namespace, name, subresource, context }: ResourceRequest,
): Promise<void> {
  const { group: apiGroup, version: apiVersion, plural: resource } = definition.type;
  const { user } = context;
  const attributes: AuthorizationAttributes = {
    user,
    verb: 'create',
    resourceRequest: true,
    apiGroup,
    apiVersion,
    resource,
    subresource,
    namespace,
    name,
    path: '',
  };
  const decided = await tools.reviewAccess(context).authorize(attributes);
  if (decided.decision !== 'allow') throw forbiddenRequest(attributes, decided);
}

/** Runs all mutating plugins. Each gets the result of the previous one. */
export async function admitMutating(
  tools: WriteTools,
  attributes: AdmissionAttributes,
): Promise<ApiObject | undefined> {
  let now = attributes;
  for (const plugin of tools.admission) {
    if (plugin.mutate === undefined || !plugin.handles(now)) continue;
    const mutating = plugin.mutate(now);
    const object = mutating instanceof Promise ? await mutating : mutating;
    if (object !== now.object) now = { ...attributes, object };
    await tools.pace.rest();
  }
  return now.object;
}

export async function admitValidating(tools: WriteTools, attributes: AdmissionAttributes): Promise<void> {
  for (const plugin of tools.admission) {
    if (plugin.validate === undefined || !plugin.handles(attributes)) continue;
    const judged = plugin.validate(attributes);
    if (judged instanceof Promise) await judged;
    await tools.pace.rest();
  }
}

/** Returns the validation errors, including those of slow checks of the kind. */
export async function withLongChecks(
  { definition, subresource, context }: ResourceRequest,
  { object, old }: { readonly object: ApiObject; readonly old: ApiObject | undefined },
  found: readonly FieldError[],
): Promise<readonly FieldError[]> {
  const check = definition.rules.validateInTurns;
  if (check === undefined) return found;
  const more = await check(object, { old, subresource, found, warn: (text) => context.warn(text) });
  return [...found, ...more];
}

/**
 * Limits the result of repeated patches like a single body. An object that is already larger may stay so, so that its
 * finalizers can be removed.
 */
function checkStored(value: string, before: CachedObject | undefined): void {
  if (before !== undefined && value.length <= before.json.length) return;
  const { storedBytes, storedValues } = objectLimits;
  if (value.length > storedBytes)
    throw new ApiStatusError('RequestEntityTooLarge', `Request entity too large: limit is ${storedBytes}`);
  if (value.length > 2 * storedValues && measureJson(Buffer.from(value), storedValues).values > storedValues)
    throw tooManyValues(storedValues);
}

export type Put = () => Promise<{ served: CachedObject } | { conflict: true }>;

/**
 * Prepares a write of an object, which replaces `before` if there is one, and the entry of the cache. Throws if the
 * object is too large.
 */
export function preparePut(
  tools: WriteTools,
  definition: ResourceDefinition,
  object: ApiObject,
  before: CachedObject | undefined,
): Put {
  // Nothing is written for a kind that was removed in the meantime.
  const { objects } = tools.cache.kind(definition);
  const key = storageKey(definition, object.metadata);
  const value = storedJson(definition, object);
  // A deletion only sets the timestamp, whatever the kind.
  if (object.metadata.deletionTimestamp === before?.object.metadata.deletionTimestamp) checkStored(value, before);
  return async () => {
    await tools.pace.rest();
    tools.cache.expect(key, value, object);
    let result: ReturnType<typeof notFenced>;
    try {
      const { ttlSeconds, unhurried } = definition;
      const written = await tools.storage.put(key, value, {
        expected: before?.revision ?? 0,
        ...guardOf(tools),
        ...(ttlSeconds !== undefined && { ttlSeconds }),
        ...(unhurried !== undefined && { unhurried }),
      });
      result = notFenced(written, tools.term);
    } finally {
      tools.cache.forget(key);
    }
    if (result.outcome === 'conflict') return { conflict: true };
    const cached = objects.get(formatKey(object.metadata));
    if (cached?.revision === result.revision) return { served: cached };
    const { metadata } = object;
    return {
      served: new CachedObject(
        definition,
        { ...object, metadata: { ...metadata, resourceVersion: String(result.revision) } },
        result.revision,
        value,
      ),
    };
  };
}

/** Returns a stored object as clients see it. Converting a custom object may call a webhook. */
export async function shownObject(definition: ResourceDefinition, stored: ApiObject): Promise<ApiObject> {
  await definition.storedAs?.prepare?.([stored]);
  return definition.storedAs?.fromStored(stored) ?? stored;
}

/** Does the same for an object with its JSON. */
export async function shownServed(definition: ResourceDefinition, served: Served): Promise<Served> {
  await definition.storedAs?.prepare?.([served.object]);
  return asServed(definition, served);
}

/** Does the same for an object that needs no wait. It returns the same object if the stored form is the served form. */
export function asServed(definition: ResourceDefinition, served: Served): Served {
  const object = definition.storedAs?.fromStored(served.object) ?? served.object;
  return object === served.object ? served : servedUnstored(definition, object);
}

/** Returns the response of a dry run. It is rejected in the same cases as the write. */
export function servedAsIfStored(
  definition: ResourceDefinition,
  object: ApiObject,
  before: CachedObject | undefined,
): Served {
  const served = servedUnstored(definition, object);
  checkStored(served.json, before);
  return served;
}

/** Serves an object that is not stored: in dry runs and in responses of other kinds. */
export function servedUnstored(definition: ResourceDefinition, object: ApiObject): Served {
  return { object, json: wireJson(definition, object) };
}

export function servedBody(body: object): Served {
  return { object: body as ApiObject, json: JSON.stringify(body) };
}

/** Returns the current object. With `confirmed`, the store is asked first whether the cache is up to date. */
export async function currentObject(
  tools: WriteTools,
  definition: ResourceDefinition,
  key: ObjectKey,
  confirmed: boolean,
): Promise<CachedObject | undefined> {
  if (confirmed) await tools.cache.fresh();
  return tools.cache.kind(definition).objects.get(formatKey(key));
}

/**
 * Runs an operation on the cached object. A rejection or a lost write counts only if the cache was known to be up to
 * date; otherwise the operation is repeated. So the common case does not read the store first, and with two servers on
 * one store no write is rejected because of outdated data.
 */
export async function retryOnStale<Result>(
  tools: WriteTools,
  attempt: (confirmed: boolean) => Promise<Result | 'stale'>,
): Promise<Result | 'stale'> {
  const before = tools.cache.revision;
  try {
    const result = await attempt(false);
    if (result !== 'stale') return result;
  } catch (error) {
    await tools.cache.fresh();
    if (tools.cache.revision === before) throw error;
  }
  return attempt(true);
}

export function kindOf(definition: ResourceDefinition): { group: string; kind: string; apiVersion: string } {
  const { group, kind } = definition.type;
  return { group, kind, apiVersion: apiVersionOf(definition.type) };
}
