import type { ApiObject } from '../../../api/client/resource-type.ts';
import { formatKey } from '../../../api/client/resource-type.ts';
import { conflict, forbidden, notFound } from '../../../api/status/api-status-error.ts';
import type { Status } from '../../../api/status/status.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { storageKey } from '../definition-index.ts';
import { parseDeleteOptions } from './delete-options.ts';
import type { DeleteOptions } from '../../../api/core/delete-options.ts';
import { guardOf, notFenced } from '../leader-term.ts';
import { planDeletion } from './plan-deletion.ts';
import type { ResourceRequest, Served } from '../registry.ts';
import type { CachedObject } from '../cache/stored-form.ts';
import {
  admitMutating,
  admitValidating,
  attributesOf,
  currentObject,
  preparePut,
  retryOnStale,
  servedBody,
  servedUnstored,
  shownObject,
  shownServed,
} from './write-tools.ts';
import type { WriteTools } from './write-tools.ts';

export type Deleted = Served & { readonly gone: boolean };

const ATTEMPTS = 20;

/**
 * Deletes an object (DELETE). Returns the object if it stays because of its grace period or finalizers, else a Status
 * (or the object, for some kinds).
 */
export async function deleteObject(tools: WriteTools, request: ResourceRequest, rawOptions: unknown): Promise<Deleted> {
  const options = parseDeleteOptions(rawOptions);
  const { propagationWarning, refuseDeletion } = request.definition.rules;
  const refusal = refuseDeletion?.(request.name);
  if (refusal !== undefined) throw forbidden(request.definition.type, request.name, refusal);
  const saysPropagation = options.propagationPolicy !== undefined || options.orphanDependents !== undefined;
  if (propagationWarning !== undefined && !saysPropagation) request.context.warn(propagationWarning);
  for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
    const result = await retryOnStale(tools, async (confirmed) => {
      const current = await currentObject(tools, tools.definitions.storedOf(request.definition), request, confirmed);
      if (current === undefined) throw notFound(request.definition.type, request.name);
      return deleteCurrent(tools, request, current, options);
    });
    if (result !== 'stale') return result;
  }
  throw conflict(request.definition.type, request.name, 'other clients change it too often; please try again');
}

async function deleteCurrent(
  tools: WriteTools,
  request: ResourceRequest,
  current: CachedObject,
  options: DeleteOptions,
): Promise<Deleted | 'stale'> {
  const { definition, context } = request;
  checkPreconditions(request, current.object, options);
  const old = await shownObject(definition, current.object);
  const attributes = attributesOf(request, 'DELETE', { object: undefined, oldObject: old }, { ...options });
  await admitMutating(tools, attributes);
  await admitValidating(tools, attributes);
  const plan = planDeletion(definition, current.object, options, tools.clock.nowMs());
  if (plan.kind === 'keep') return { ...(await asShown(definition, current)), gone: false };
  if (plan.kind === 'mark') {
    if (context.dryRun) return { ...servedUnstored(definition, plan.object), gone: false };
    const result = await preparePut(tools, tools.definitions.storedOf(definition), plan.object, current)();
    return 'conflict' in result ? 'stale' : { ...(await asShown(definition, result.served)), gone: false };
  }
  if (!context.dryRun && !(await removeObject(tools, definition, current))) return 'stale';
  return {
    ...(definition.rules.returnsDeleted === true
      ? await asShown(definition, current)
      : servedBody(deletedStatus(definition, old))),
    gone: true,
  };
}

/**
 * Deletes the object from the store and releases its allocations. Returns false if another client has changed it in the
 * meantime.
 */
export async function removeObject(
  tools: WriteTools,
  definition: ResourceDefinition,
  current: CachedObject,
): Promise<boolean> {
  const stored = tools.definitions.storedOf(definition);
  const key = storageKey(stored, current.object.metadata);
  const result = notFenced(await tools.storage.delete(key, current.revision, guardOf(tools).guard), tools.term);
  if (result.outcome === 'conflict' && result.current !== undefined) return false;
  if (result.outcome === 'conflict') throw notFound(definition.type, formatKey(current.object.metadata));
  await stored.deallocate?.(current.object, tools.claims(false));
  return true;
}

function checkPreconditions(
  { definition, name }: ResourceRequest,
  object: ApiObject,
  { preconditions }: DeleteOptions,
): void {
  // Upstream's message contains the kind here, not the resource.
  const kind = { group: definition.type.group, plural: definition.type.kind };
  const { uid, resourceVersion } = object.metadata;
  if (preconditions?.uid !== undefined && preconditions.uid !== uid) {
    throw conflict(
      kind,
      name,
      `the UID in the precondition (${preconditions.uid}) does not match the UID in record (${uid}). The object might have been deleted and then recreated`,
    );
  }
  if (preconditions?.resourceVersion !== undefined && preconditions.resourceVersion !== resourceVersion) {
    throw conflict(
      kind,
      name,
      `the ResourceVersion in the precondition (${preconditions.resourceVersion}) does not match the ResourceVersion in record (${resourceVersion ?? ''}). The object might have been modified`,
    );
  }
}

async function asShown(definition: ResourceDefinition, served: Served): Promise<Served> {
  const { object, json } = await shownServed(definition, served);
  return { object, json };
}

function deletedStatus({ type }: ResourceDefinition, { metadata }: ApiObject): Status {
  const details = {
    name: metadata.name,
    ...(type.group !== '' && { group: type.group }),
    kind: type.plural,
    uid: metadata.uid,
  };
  return { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', details };
}
