import { ConfigMapSchema } from '../core/config-map.ts';
import type { ConfigMap } from '../core/config-map.ts';
import { PersistentVolumeClaimSchema } from '../core/persistent-volume-claim.ts';
import type { PersistentVolumeClaim } from '../core/persistent-volume-claim.ts';
import { PersistentVolumeSchema } from '../core/persistent-volume.ts';
import type { PersistentVolume } from '../core/persistent-volume.ts';
import { PodSchema } from '../core/pod.ts';
import type { Pod } from '../core/pod.ts';
import { SecretSchema } from '../core/secret.ts';
import type { Secret } from '../core/secret.ts';
import { ServiceSchema } from '../core/service.ts';
import type { Service } from '../core/service.ts';
import { defaultConfigMap, defaultSecret } from '../defaults/default-config.ts';
import { defaultPod } from '../defaults/default-pod.ts';
import { defaultRuntimeClass } from '../defaults/default-runtime-class.ts';
import { defaultService, withClusterIps } from '../defaults/default-service.ts';
import {
  defaultCsiDriver,
  defaultPersistentVolume,
  defaultPersistentVolumeClaim,
} from '../defaults/default-storage.ts';
import { RuntimeClassSchema } from '../node/runtime-class.ts';
import type { RuntimeClass } from '../node/runtime-class.ts';
import { decode } from '../schema/decode.ts';
import type { Decoded, DecodeOptions } from '../schema/decode.ts';
import { CSIDriverSchema } from '../storage/csi-driver.ts';
import type { CSIDriver } from '../storage/csi-driver.ts';
import type { FieldError } from '../validation/field-error.ts';
import { validateConfigMap, validateSecret } from '../validation/validate-config.ts';
import { validateCsiDriver } from '../validation/volumes/validate-csi-driver.ts';
import { validatePersistentVolume } from '../validation/volumes/validate-persistent-volume.ts';
import { permissivePolicy } from '../validation/cluster-policy.ts';
import { validatePod } from '../validation/pod/validate-pod.ts';
import { validateRuntimeClass } from '../validation/validate-runtime-class.ts';
import { validateService } from '../validation/network/validate-service.ts';
import { validatePersistentVolumeClaim } from '../validation/volumes/volume-claim.ts';

/** All kinds that a manifest may contain. */
export interface ManifestKinds {
  readonly Pod: Pod;
  readonly ConfigMap: ConfigMap;
  readonly Secret: Secret;
  readonly PersistentVolume: PersistentVolume;
  readonly PersistentVolumeClaim: PersistentVolumeClaim;
  readonly Service: Service;
  readonly RuntimeClass: RuntimeClass;
  readonly CSIDriver: CSIDriver;
}
export type ManifestKind = keyof ManifestKinds;

/** An object and its kind; for a union of kinds, the union of such pairs. */
export type Kinded<Kind extends ManifestKind> = {
  [Each in Kind]: { readonly kind: Each; readonly object: ManifestKinds[Each] };
}[Kind];
/** The kinds other than pods. */
export type KindedObject = Kinded<Exclude<ManifestKind, 'Pod'>>;

interface KindRules<Kind extends ManifestKind> {
  readonly apiVersion: string;
  /** Cluster-scoped: `metadata.namespace` stays ''. */
  readonly clusterScoped: boolean;
  readonly decode: (value: unknown, options: DecodeOptions) => Decoded<ManifestKinds[Kind]>;
  /** A copy with the defaults that the API server sets. */
  readonly applyDefaults: (object: ManifestKinds[Kind]) => ManifestKinds[Kind];
  /** Validates a defaulted object in its namespace. */
  readonly validate: (object: ManifestKinds[Kind]) => readonly FieldError[];
}

/** To add a kind, add a line to `ManifestKinds` and one here. */
export const manifestKinds: { readonly [Kind in ManifestKind]: KindRules<Kind> } = {
  Pod: {
    apiVersion: 'v1',
    clusterScoped: false,
    decode: (value, options) => decode(PodSchema, value, options),
    applyDefaults: defaultPod,
    validate: (pod) => validatePod(pod, permissivePolicy),
  },
  ConfigMap: {
    apiVersion: 'v1',
    clusterScoped: false,
    decode: (value, options) => decode(ConfigMapSchema, value, options),
    applyDefaults: defaultConfigMap,
    validate: validateConfigMap,
  },
  Secret: {
    apiVersion: 'v1',
    clusterScoped: false,
    decode: (value, options) => decode(SecretSchema, value, { ...options, hideValues: true }),
    applyDefaults: defaultSecret,
    validate: validateSecret,
  },
  PersistentVolume: {
    apiVersion: 'v1',
    clusterScoped: true,
    decode: (value, options) => decode(PersistentVolumeSchema, value, options),
    applyDefaults: defaultPersistentVolume,
    validate: validatePersistentVolume,
  },
  PersistentVolumeClaim: {
    apiVersion: 'v1',
    clusterScoped: false,
    decode: (value, options) => decode(PersistentVolumeClaimSchema, value, options),
    applyDefaults: defaultPersistentVolumeClaim,
    validate: validatePersistentVolumeClaim,
  },
  Service: {
    apiVersion: 'v1',
    clusterScoped: false,
    decode: (value, options) => decode(ServiceSchema, value, options),
    applyDefaults: (service) => withClusterIps(defaultService(service)),
    validate: validateService,
  },
  RuntimeClass: {
    apiVersion: 'node.k8s.io/v1',
    clusterScoped: true,
    decode: (value, options) => decode(RuntimeClassSchema, value, options),
    applyDefaults: defaultRuntimeClass,
    validate: validateRuntimeClass,
  },
  CSIDriver: {
    apiVersion: 'storage.k8s.io/v1',
    clusterScoped: true,
    decode: (value, options) => decode(CSIDriverSchema, value, options),
    applyDefaults: defaultCsiDriver,
    validate: validateCsiDriver,
  },
};
export const manifestKindNames = Object.keys(manifestKinds) as readonly ManifestKind[];

/** The validation errors for creating the object. */
export function validateObject<Kind extends ManifestKind>({ kind, object }: Kinded<Kind>): readonly FieldError[] {
  return manifestKinds[kind].validate(object);
}

/** The object with its default namespace, if its manifest has none. */
export function inDefaultNamespace<Kind extends ManifestKind>(entry: Kinded<Kind>): Kinded<Kind> {
  const { kind, object } = entry;
  if (manifestKinds[kind].clusterScoped || object.metadata.namespace !== '') return entry;
  return { ...entry, object: { ...object, metadata: { ...object.metadata, namespace: 'default' } } };
}
