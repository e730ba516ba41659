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

/** What all writing verbs stand on. */
export interface WriteTools {
  /** Of the request's kind. */
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
   * Of all writes: each rests between its stages, as one may take long for an object of many parts, and many may be
   * under way.
   */
  readonly pace: Pick<TurnShare, 'rest'>;
}

/** For an object of another kind than the request's, which may be in another store. */
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

/** All mutating plugins, each on what the one before made of it. */
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

/** What the checks have found, and those of the kind that may take long. */
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
 * What patch after patch makes of an object is bounded as what one body makes of it. One that is larger already may
 * stay so: it must be possible to let go of it.
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
 * Makes ready what writes an object to the store, in place of `before` if there is something, and what the cache will
 * show. Throws for an object that is too large.
 */
export function preparePut(
  tools: WriteTools,
  definition: ResourceDefinition,
  object: ApiObject,
  before: CachedObject | undefined,
): Put {
  // Of a kind that went meanwhile nothing is written.
  const { objects } = tools.cache.kind(definition);
  const key = storageKey(definition, object.metadata);
  const value = storedJson(definition, object);
  // A deletion is only marked, whatever it is of.
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

/** A stored object as clients see it. Converting a custom object may call a webhook. */
export async function shownObject(definition: ResourceDefinition, stored: ApiObject): Promise<ApiObject> {
  await definition.storedAs?.prepare?.([stored]);
  return definition.storedAs?.fromStored(stored) ?? stored;
}

/** Like `shownObject`, for an object with its JSON. */
export async function shownServed(definition: ResourceDefinition, served: Served): Promise<Served> {
  await definition.storedAs?.prepare?.([served.object]);
  return asServed(definition, served);
}

/** As `shownServed`, of an object for which there is nothing to wait: the very object, where it is stored as it is shown. */
export function asServed(definition: ResourceDefinition, served: Served): Served {
  const object = definition.storedAs?.fromStored(served.object) ?? served.object;
  return object === served.object ? served : servedUnstored(definition, object);
}

/** What a dry run answers with: refused where the write would be. */
export function servedAsIfStored(
  definition: ResourceDefinition,
  object: ApiObject,
  before: CachedObject | undefined,
): Served {
  const served = servedUnstored(definition, object);
  checkStored(served.json, before);
  return served;
}

/** An object that is shown without being stored: dry runs and answers of other kinds. */
export function servedUnstored(definition: ResourceDefinition, object: ApiObject): Served {
  return { object, json: wireJson(definition, object) };
}

export function servedBody(body: object): Served {
  return { object: body as ApiObject, json: JSON.stringify(body) };
}

/** What stands there now. With `confirmed`, after asking the store whether the cache is up to date. */
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
 * Tries on what the cache has; a refusal, or a write that lost, counts only when the cache was known to be up to date.
 * So the common case does not read the store first, and with two servers on one store no write is refused because of
 * what is out of date.
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
