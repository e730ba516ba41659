import type { Clock } from '../../../base/clock.ts';
import type { Random } from '../../../base/random.ts';
import type { ApiObject, ObjectKey } from '../../../api/client/resource-type.ts';
import { apiVersionOf, formatKey } from '../../../api/client/resource-type.ts';
import type { AdmissionAttributes, AdmissionOperation, AdmissionPlugin } from '../../model/admission.ts';
import type {
  ActionServices,
  Claims,
  RequestFacts,
  ResourceDefinition,
  ReviewAccess,
} from '../../model/resource-definition.ts';
import type { RequestContext } from '../../model/request-context.ts';
import type { Storage, WriteResult } from '../../storage/storage.ts';
import { storageKey } from '../definition-index.ts';
import type { DefinitionIndex } from '../definition-index.ts';
import type { ObjectCache } from '../cache/object-cache.ts';
import type { ResourceRequest, Served } from '../registry.ts';
import { CachedObject, storedJson, wireJson } from '../cache/stored-form.ts';

/** What all writing verbs stand on. */
export interface WriteTools {
  readonly cache: ObjectCache;
  readonly storage: Storage;
  readonly definitions: DefinitionIndex;
  readonly clock: Clock;
  readonly random: Random;
  readonly admission: readonly AdmissionPlugin[];
  readonly claims: (dryRun: boolean) => Claims;
  readonly services: ActionServices;
  readonly reviewAccess: (context: RequestContext) => ReviewAccess;
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

/** All mutating plugins, each on what the one before made of it. */
export async function admitMutating(
  tools: WriteTools,
  attributes: AdmissionAttributes,
): Promise<ApiObject | undefined> {
  let { object } = attributes;
  for (const plugin of tools.admission) {
    if (plugin.mutate === undefined) continue;
    const now = { ...attributes, object };
    if (!plugin.handles(now)) continue;
    const mutated = plugin.mutate(now);
    object = mutated instanceof Promise ? await mutated : mutated;
  }
  return object;
}

export async function admitValidating(tools: WriteTools, attributes: AdmissionAttributes): Promise<void> {
  for (const plugin of tools.admission) {
    if (plugin.validate === undefined || !plugin.handles(attributes)) continue;
    const judged = plugin.validate(attributes);
    if (judged instanceof Promise) await judged;
  }
}

/** Writes to the store what the cache will show; `expected` 0 for what must not exist. */
export async function putObject(
  tools: WriteTools,
  definition: ResourceDefinition,
  object: ApiObject,
  expected: number,
): Promise<{ served: CachedObject } | { conflict: true }> {
  const key = storageKey(definition, object.metadata);
  const value = storedJson(definition, object);
  tools.cache.expect(key, value, object);
  let result: WriteResult;
  try {
    const { ttlSeconds, unhurried } = definition;
    result = await tools.storage.put(key, value, {
      expected,
      ...(ttlSeconds !== undefined && { ttlSeconds }),
      ...(unhurried !== undefined && { unhurried }),
    });
  } finally {
    tools.cache.forget(key);
  }
  if (result.outcome === 'conflict') return { conflict: true };
  const cached = tools.cache.kind(definition).objects.get(formatKey(object.metadata));
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
 * Tries on what the cache has; a refusal, or a write that lost, counts only when the cache was known to be up to date. So the common case asks the store
 * nothing beforehand, and with two servers on one store nobody is refused because of what is out of date.
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
