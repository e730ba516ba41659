import type { ApiObject } from '../../../api/client/resource-type.ts';
import { formatTime } from '../../../api/time.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import type { DeleteOptions } from '../../../api/core/delete-options.ts';

const ORPHAN_FINALIZER = 'orphan';
const FOREGROUND_FINALIZER = 'foregroundDeletion';

/**
 * The effect of a deletion. `remove` deletes the object from the store, `mark` stores it with a deletion timestamp, and
 * `keep` changes nothing because it is already marked.
 */
export type DeletionPlan =
  | { readonly kind: 'remove' }
  | { readonly kind: 'mark'; readonly object: ApiObject }
  | { readonly kind: 'keep' };

/**
 * Plans the effect of a DELETE on the object in its current state (upstream: registry/rest/delete.go and the generic
 * store).
 */
export function planDeletion(
  definition: ResourceDefinition,
  object: ApiObject,
  options: DeleteOptions,
  nowMs: number,
): DeletionPlan {
  const { rules } = definition;
  const graceSeconds = rules.gracePeriodSeconds?.(object, options.gracePeriodSeconds) ?? 0;
  const finalizers = deletionFinalizers(definition, object, options);
  const changed = withFinalizers(object, finalizers);
  if (rules.gracePeriodSeconds !== undefined && graceSeconds > 0)
    return gracefully(changed, object, graceSeconds, nowMs);
  const held = rules.holdDeletion?.(terminating(changed, 0, nowMs));
  if (finalizers.length === 0 && held === undefined) return { kind: 'remove' };
  const next = held === undefined ? terminating(changed, 0, nowMs) : onlyTimed(held, object);
  return next.metadata.deletionTimestamp === object.metadata.deletionTimestamp &&
    changed === object &&
    (held !== undefined || object.metadata.deletionGracePeriodSeconds === 0)
    ? { kind: 'keep' }
    : { kind: 'mark', object: next };
}

/** Applies the grace period. A running one can only be shortened. */
function gracefully(changed: ApiObject, object: ApiObject, graceSeconds: number, nowMs: number): DeletionPlan {
  const { deletionTimestamp, deletionGracePeriodSeconds } = object.metadata;
  if (deletionTimestamp === undefined || deletionGracePeriodSeconds === undefined)
    return { kind: 'mark', object: terminating(changed, graceSeconds, nowMs) };
  if (graceSeconds >= deletionGracePeriodSeconds)
    return changed === object ? { kind: 'keep' } : { kind: 'mark', object: changed };
  const startedMs = Date.parse(deletionTimestamp) - deletionGracePeriodSeconds * 1000;
  const metadata = {
    ...changed.metadata,
    deletionTimestamp: formatTime(startedMs + graceSeconds * 1000),
    deletionGracePeriodSeconds: graceSeconds,
  };
  return { kind: 'mark', object: { ...changed, metadata: counted(metadata) } };
}

function terminating(object: ApiObject, graceSeconds: number, nowMs: number): ApiObject {
  const { metadata } = object;
  if (metadata.deletionTimestamp !== undefined)
    return metadata.deletionGracePeriodSeconds === graceSeconds
      ? object
      : { ...object, metadata: { ...metadata, deletionGracePeriodSeconds: graceSeconds } };
  return {
    ...object,
    metadata: counted({
      ...metadata,
      deletionTimestamp: formatTime(nowMs + graceSeconds * 1000),
      deletionGracePeriodSeconds: graceSeconds,
    }),
  };
}

/** Kinds that hold their deletion set only its time in upstream: no grace period, and no new generation. */
function onlyTimed(held: ApiObject, before: ApiObject): ApiObject {
  const { deletionGracePeriodSeconds: _, generation: __, ...metadata } = held.metadata;
  const { deletionGracePeriodSeconds, generation } = before.metadata;
  return {
    ...held,
    metadata: {
      ...metadata,
      ...(generation !== undefined && { generation }),
      ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
    },
  };
}

/** Increments the generation, because a deletion counts like a change of the spec. */
function counted(metadata: ApiObject['metadata']): ApiObject['metadata'] {
  return metadata.generation === undefined ? metadata : { ...metadata, generation: metadata.generation + 1 };
}

/** Returns the finalizers after the request. The propagation policy adds or removes those of the garbage collector. */
function deletionFinalizers(
  { rules }: ResourceDefinition,
  { metadata }: ApiObject,
  options: DeleteOptions,
): readonly string[] {
  const { finalizers = [] } = metadata;
  const policy =
    options.propagationPolicy ??
    (options.orphanDependents === undefined ? undefined : options.orphanDependents ? 'Orphan' : 'Background');
  const wanted = policy ?? policyOf(finalizers) ?? rules.defaultPropagation ?? 'Background';
  const others = finalizers.filter((each) => each !== ORPHAN_FINALIZER && each !== FOREGROUND_FINALIZER);
  if (rules.defaultPropagation === 'Unsupported') return others;
  if (wanted === 'Orphan') return [...others, ORPHAN_FINALIZER];
  return wanted === 'Foreground' ? [...others, FOREGROUND_FINALIZER] : others;
}

function policyOf(finalizers: readonly string[]): 'Orphan' | 'Foreground' | undefined {
  if (finalizers.includes(ORPHAN_FINALIZER)) return 'Orphan';
  return finalizers.includes(FOREGROUND_FINALIZER) ? 'Foreground' : undefined;
}

function withFinalizers(object: ApiObject, finalizers: readonly string[]): ApiObject {
  const before = object.metadata.finalizers ?? [];
  const now = new Set(finalizers);
  if (before.length === finalizers.length && before.every((each) => now.has(each))) return object;
  const { finalizers: _, ...metadata } = object.metadata;
  return { ...object, metadata: { ...metadata, ...(finalizers.length > 0 && { finalizers: [...finalizers] }) } };
}
