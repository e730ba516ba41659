import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ObjectMeta } from '../../api/core/meta.ts';

const kept = ['deletionTimestamp', 'generation', 'labels', 'annotations', 'finalizers', 'ownerReferences'] as const;

/**
 * Restores the metadata, for status writes that must not change the rest of it (upstream: ResetObjectMetaForStatus).
 */
export function keepMetadata<T extends ApiObject>(object: T, old: T): T {
  const metadata: Record<string, unknown> = { ...object.metadata };
  for (const field of kept)
    if (old.metadata[field] === undefined) delete metadata[field];
    else metadata[field] = old.metadata[field];
  // The fields of one ObjectMeta and of another.
  return { ...object, metadata: metadata as unknown as ObjectMeta };
}
