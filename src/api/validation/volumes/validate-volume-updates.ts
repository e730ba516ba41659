import type { PersistentVolumeClaim } from '../../core/persistent-volume-claim.ts';
import type { PersistentVolume, PersistentVolumeSpec } from '../../core/persistent-volume.ts';
import type { PersistentVolumeClaimSpec } from '../../core/volume-source.ts';
import { compareQuantities, quantitySign } from '../../quantity.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { unifiedDiff } from '../../unified-diff.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { IMMUTABLE_MESSAGE, validateImmutable } from '../immutable.ts';
import { checkLabelKey } from '../names.ts';
import { hasInvalidNodeValue } from '../pod/scheduling.ts';
import { validateWholeVolume } from './validate-persistent-volume.ts';
import { leniencyFor, validateWholeClaim } from './volume-claim.ts';

export const STORAGE_CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
const resizeStates = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizePending',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
];

/** All fields of the spec except the volume source. */
const otherFields: ReadonlySet<string> = new Set([
  'capacity',
  'accessModes',
  'claimRef',
  'persistentVolumeReclaimPolicy',
  'storageClassName',
  'mountOptions',
  'volumeMode',
  'nodeAffinity',
  'volumeAttributesClassName',
]);

function sourceOf(spec: PersistentVolumeSpec): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(spec).filter(([field, value]) => !otherFields.has(field) && value !== undefined),
  );
}

/** Upstream: ValidatePersistentVolumeUpdate. */
export function validatePersistentVolumeUpdate(volume: PersistentVolume, old: PersistentVolume): FieldError[] {
  const errors = new FieldErrors();
  validateWholeVolume(errors, volume, { anyValue: hasInvalidNodeValue(old.spec.nodeAffinity?.required) });
  const before = sourceOf(old.spec);
  const now = sourceOf(volume.spec);
  // The secret for growing may come later.
  if (
    old.spec.csi !== undefined &&
    old.spec.csi.controllerExpandSecretRef === undefined &&
    volume.spec.csi !== undefined
  )
    now['csi'] = { ...volume.spec.csi, controllerExpandSecretRef: undefined };
  if (!semanticEqual(now, before))
    errors.forbidden(
      'spec.persistentvolumesource',
      `spec.persistentvolumesource is immutable after creation\n${unifiedDiff(before, now)}`,
    );
  validateImmutable(errors, 'volumeMode', volume.spec.volumeMode ?? null, old.spec.volumeMode);
  if (old.spec.nodeAffinity !== undefined && !semanticEqual(volume.spec.nodeAffinity, old.spec.nodeAffinity))
    errors.invalid('nodeAffinity', volume.spec.nodeAffinity ?? null, IMMUTABLE_MESSAGE);
  if (old.spec.volumeAttributesClassName !== undefined && volume.spec.volumeAttributesClassName === undefined)
    errors.forbidden('spec.volumeAttributesClassName', 'update from non-nil value to nil is forbidden');
  return errors.list;
}

/** Upstream: ValidatePersistentVolumeClaimUpdate. */
export function validatePersistentVolumeClaimUpdate(
  claim: PersistentVolumeClaim,
  old: PersistentVolumeClaim,
): FieldError[] {
  const errors = new FieldErrors();
  validateWholeClaim(errors, claim, leniencyFor(old));
  const { spec, status } = claim;
  const classNow = claim.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  const classBefore = old.metadata.annotations?.[STORAGE_CLASS_ANNOTATION];
  const moved =
    classBefore !== undefined &&
    old.spec.storageClassName === undefined &&
    classNow === undefined &&
    spec.storageClassName === classBefore;
  if (!moved && classNow !== classBefore)
    errors.invalid(`metadata[${STORAGE_CLASS_ANNOTATION}]`, classNow ?? '', IMMUTABLE_MESSAGE);
  const named =
    !moved &&
    spec.storageClassName !== undefined &&
    old.spec.storageClassName === undefined &&
    (classBefore === undefined || spec.storageClassName === classBefore);
  const rest: PersistentVolumeClaimSpec = {
    ...spec,
    ...((moved || named) && { storageClassName: old.spec.storageClassName }),
    ...(!old.spec.volumeName && { volumeName: old.spec.volumeName }),
    ...(status?.phase === 'Bound' && {
      volumeAttributesClassName: old.spec.volumeAttributesClassName,
      resources: withStorageOf(spec, old.spec),
    }),
  };
  if (!semanticEqual(rest, old.spec)) {
    errors.forbidden(
      'spec',
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${unifiedDiff(old.spec, rest)}`,
    );
  }
  validateShrinking(errors, claim, old);
  validateImmutable(errors, 'volumeMode', spec.volumeMode ?? null, old.spec.volumeMode);
  if (
    old.status?.currentVolumeAttributesClassName !== undefined &&
    !spec.volumeAttributesClassName &&
    old.spec.volumeAttributesClassName !== spec.volumeAttributesClassName
  ) {
    const what = spec.volumeAttributesClassName === undefined ? 'nil' : 'empty string';
    errors.forbidden(
      'spec.volumeAttributesClassName',
      `update to ${what} is forbidden when status.currentVolumeAttributesClassName is not nil`,
    );
  }
  return errors.list;
}

function withStorageOf(
  { resources }: PersistentVolumeClaimSpec,
  old: PersistentVolumeClaimSpec,
): PersistentVolumeClaimSpec['resources'] {
  const storage = old.resources?.requests?.['storage'];
  if (resources?.requests === undefined || storage === undefined) return resources;
  return { ...resources, requests: { ...resources.requests, storage } };
}

/** A request may become smaller while the volume has not been expanded to it. */
function validateShrinking(errors: FieldErrors, { spec }: PersistentVolumeClaim, old: PersistentVolumeClaim): void {
  const now = spec.resources?.requests?.['storage'] ?? '0';
  const before = old.spec.resources?.requests?.['storage'] ?? '0';
  const has = old.status?.capacity?.['storage'] ?? '0';
  if (compareQuantities(now, before) < 0 && compareQuantities(now, has) <= 0)
    errors.forbidden('spec.resources.requests.storage', 'field can not be less than status.capacity');
}

/** Upstream: ValidatePersistentVolumeClaimStatusUpdate. */
export function validatePersistentVolumeClaimStatusUpdate({ status = {} }: PersistentVolumeClaim): FieldError[] {
  const errors = new FieldErrors();
  for (const field of ['capacity', 'allocatedResources'] as const) {
    for (const [name, amount] of Object.entries(status[field] ?? {}))
      if (quantitySign(amount) < 0)
        errors.invalid(`status.${field}[${name}]`, amount, 'must be a valid resource quantity');
  }
  for (const field of ['allocatedResourceStatuses', 'allocatedResources'] as const)
    for (const name of Object.keys(status[field] ?? {})) validateResourceKey(errors, `status.${field}`, name);
  for (const [name, state] of Object.entries(status.allocatedResourceStatuses ?? {}))
    if (!resizeStates.includes(state))
      errors.notSupported('status.allocatedResourceStatuses', name, [...resizeStates].sort());
  return errors.list;
}

function validateResourceKey(errors: FieldErrors, field: string, name: string): void {
  const complaints = checkLabelKey(name);
  errors.invalidEach(field, name, complaints);
  if (complaints.length > 0) return;
  const isNative = !name.includes('/') || name.includes('kubernetes.io/');
  if (isNative && name !== 'storage') errors.notSupported(field, name, ['storage']);
}
