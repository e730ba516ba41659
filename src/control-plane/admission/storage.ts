import { requestedStorage } from '../../api/claim-size.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  storageClasses,
  volumeAttributesClasses,
} from '../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import { compareQuantities } from '../../api/quantity.ts';
import type { StorageClass } from '../../api/storage/storage-class.ts';
import type { AdmissionPlugin } from '../model/admission.ts';
import type { ObjectReader } from '../model/object-reader.ts';
import { isAbout, objectOf, oldObjectOf, refusal } from './attributes.ts';

const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class';
const defaultAnnotations = [
  'storageclass.kubernetes.io/is-default-class',
  'storageclass.beta.kubernetes.io/is-default-class',
];

/** Sets the default class of a claim that names none. Upstream: DefaultStorageClass. */
export function createDefaultStorageClass(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'DefaultStorageClass',
    handles: (attributes) => attributes.operation === 'CREATE' && isAbout(attributes, persistentVolumeClaims),
    mutate(attributes) {
      const claim = objectOf(attributes, persistentVolumeClaims);
      if (claim.metadata.annotations?.[CLASS_ANNOTATION] !== undefined || claim.spec.storageClassName !== undefined)
        return claim;
      const found = defaultClass(reader.list(storageClasses, ''));
      return found === undefined ? claim : { ...claim, spec: { ...claim.spec, storageClassName: found.metadata.name } };
    },
  };
}

/** Returns the default class: the newest one, and among those of the same age the first by name. */
function defaultClass(classes: readonly StorageClass[]): StorageClass | undefined {
  const isDefault = ({ metadata }: StorageClass): boolean =>
    defaultAnnotations.some((key) => metadata.annotations?.[key] === 'true');
  const bornAt = ({ metadata }: StorageClass): string => metadata.creationTimestamp ?? '';
  return classes
    .filter(isDefault)
    .sort((left, right) =>
      bornAt(left) !== bornAt(right)
        ? bornAt(left) > bornAt(right)
          ? -1
          : 1
        : left.metadata.name < right.metadata.name
          ? -1
          : 1,
    )[0];
}

/** Allows only bound claims of a class that allows expansion to grow. Upstream: PersistentVolumeClaimResize. */
export function createPersistentVolumeClaimResize(reader: ObjectReader): AdmissionPlugin {
  const classOf = ({ metadata, spec }: PersistentVolumeClaim): string =>
    metadata.annotations?.[CLASS_ANNOTATION] ?? spec.storageClassName ?? '';
  return {
    name: 'PersistentVolumeClaimResize',
    handles: (attributes) => attributes.operation === 'UPDATE' && isAbout(attributes, persistentVolumeClaims),
    validate(attributes) {
      const [claim, old] = [
        objectOf(attributes, persistentVolumeClaims),
        oldObjectOf(attributes, persistentVolumeClaims),
      ];
      if (compareQuantities(requestedStorage(claim), requestedStorage(old)) <= 0) return;
      if (old.status?.phase !== 'Bound')
        throw refusal(attributes, 'Only bound persistent volume claims can be expanded');
      const name = classOf(claim);
      const found =
        name === '' || name !== classOf(old) ? undefined : reader.get(storageClasses, { namespace: '', name });
      if (found?.allowVolumeExpansion !== true)
        throw refusal(
          attributes,
          'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize',
        );
    },
  };
}

const protectedKinds: readonly { readonly type: ResourceType; readonly finalizer: string }[] = [
  { type: persistentVolumes, finalizer: 'kubernetes.io/pv-protection' },
  { type: persistentVolumeClaims, finalizer: 'kubernetes.io/pvc-protection' },
  { type: volumeAttributesClasses, finalizer: 'kubernetes.io/vac-protection' },
];

/**
 * Adds a finalizer to volumes and claims, so that they are not deleted while in use. A controller removes it. Upstream:
 * StorageObjectInUseProtection.
 */
export const storageObjectInUseProtection: AdmissionPlugin = {
  name: 'StorageObjectInUseProtection',
  handles: (attributes) =>
    attributes.operation === 'CREATE' && protectedKinds.some(({ type }) => isAbout(attributes, type)),
  mutate(attributes) {
    const object = attributes.object as ApiObject;
    const { finalizer = '' } = protectedKinds.find(({ type }) => isAbout(attributes, type)) ?? {};
    const { finalizers = [] } = object.metadata;
    return finalizers.includes(finalizer)
      ? object
      : { ...object, metadata: { ...object.metadata, finalizers: [...finalizers, finalizer] } };
  },
};
