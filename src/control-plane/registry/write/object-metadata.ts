import type { ApiObject } from '../../../api/client/resource-type.ts';
import type { ObjectMeta } from '../../../api/core/meta.ts';
import { formatTime } from '../../../api/time.ts';
import { FieldErrors } from '../../../api/validation/field-error.ts';
import type { FieldError } from '../../../api/validation/field-error.ts';
import { isNamelessFinalizer, NAMELESS_FINALIZER, validateObjectMeta } from '../../../api/validation/metadata.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import { badRequest } from '../../../api/status/api-status-error.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';

/** Returns the metadata of a new object, with the fields that only the server may set. */
export function metadataForCreate(
  metadata: ObjectMeta,
  { uid, nowMs, namespace }: { readonly uid: string; readonly nowMs: number; readonly namespace: string },
): ObjectMeta {
  const {
    deletionTimestamp: _,
    deletionGracePeriodSeconds: __,
    selfLink: ___,
    generation: ____,
    resourceVersion: _____,
    ...kept
  } = metadata;
  return { ...kept, namespace, uid, creationTimestamp: formatTime(nowMs) };
}

/**
 * Returns the metadata of an update of `old`, with the fields that only the server may set. A deletion time in the
 * update is kept, so that validation rejects a different one.
 */
export function metadataForUpdate(metadata: ObjectMeta, old: ObjectMeta): ObjectMeta {
  const { generation, creationTimestamp } = old;
  const { selfLink: _, generation: __, ...kept } = metadata;
  const deletionTimestamp = metadata.deletionTimestamp ?? old.deletionTimestamp;
  const deletionGracePeriodSeconds = metadata.deletionGracePeriodSeconds ?? old.deletionGracePeriodSeconds;
  return {
    ...kept,
    uid: metadata.uid === '' ? old.uid : metadata.uid,
    ...(old.resourceVersion !== undefined && { resourceVersion: old.resourceVersion }),
    ...(creationTimestamp !== undefined && { creationTimestamp }),
    ...(generation !== undefined && { generation }),
    ...(deletionTimestamp !== undefined && { deletionTimestamp }),
    ...(deletionGracePeriodSeconds !== undefined && { deletionGracePeriodSeconds }),
  };
}

/** Checks that the namespace and name of a body equal those of the path, if both are set. */
export function checkPlace(
  object: ApiObject,
  place: { readonly namespaced: boolean; readonly namespace: string; readonly name: string },
): void {
  const { namespace, name } = object.metadata;
  if (place.namespaced && namespace !== '' && namespace !== place.namespace) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (place.name !== '' && name !== '' && name !== place.name)
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${place.name})`);
}

/** Checks that the body of an update has a name (upstream: checkName). */
export function requireName({ metadata }: ApiObject, nameOfUrl: string): void {
  if (metadata.name === '')
    throw badRequest(`the name of the object (${nameOfUrl} based on URL) was undeterminable: name must be provided`);
}

/**
 * Validates metadata. Existing invalid values may stay, so that the object can be updated at all. The name is validated
 * only at creation (upstream: validateCommonFields).
 */
export function validateMetadata(
  definition: ResourceDefinition,
  metadata: ObjectMeta,
  old?: ObjectMeta,
): readonly FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, {
    clusterScoped: !definition.type.namespaced,
    checkName: old === undefined ? (definition.rules.validateName ?? (() => [])) : checkPathSegment,
  });
  if (definition.rules.anyFinalizer !== true) {
    const before = new Set(old?.finalizers);
    for (const [index, finalizer] of (metadata.finalizers ?? []).entries()) {
      if (isNamelessFinalizer(finalizer) && !before.has(finalizer))
        errors.invalid(`metadata.finalizers[${index}]`, finalizer, NAMELESS_FINALIZER);
    }
  }
  return errors.list;
}

const IMMUTABLE = 'field is immutable';

/** Checks the metadata that an update may not change (upstream: ValidateObjectMetaAccessorUpdate). */
export function validateMetadataUpdate(metadata: ObjectMeta, old: ObjectMeta): readonly FieldError[] {
  const errors = new FieldErrors();
  for (const field of [
    'name',
    'namespace',
    'uid',
    'creationTimestamp',
    'deletionTimestamp',
    'deletionGracePeriodSeconds',
  ] as const) {
    if (metadata[field] !== old[field]) errors.invalid(`metadata.${field}`, metadata[field] ?? null, IMMUTABLE);
  }
  if ((metadata.generation ?? 0) < (old.generation ?? 0))
    errors.invalid('metadata.generation', metadata.generation ?? 0, 'must not be decremented');
  if (old.deletionTimestamp !== undefined) {
    const before = new Set(old.finalizers);
    const added = (metadata.finalizers ?? []).filter((finalizer) => !before.has(finalizer));
    if (added.length > 0) {
      const shown = added.map((finalizer) => JSON.stringify(finalizer)).join(', ');
      errors.forbidden(
        'metadata.finalizers',
        `no new finalizers can be added if the object is being deleted, found new finalizers []string{${shown}}`,
      );
    }
  }
  return errors.list;
}
