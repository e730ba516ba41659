import path from 'node:path/posix';
import type {
  CSIPersistentVolumeSource,
  ISCSIPersistentVolumeSource,
  PersistentVolume,
  PersistentVolumeSpec,
} from '../../core/persistent-volume.ts';
import type { SecretReference } from '../../core/persistent-volume-remote.ts';
import { parseQuantity, quantitySign } from '../../quantity.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateObjectMeta } from '../metadata.ts';
import { checkDnsLabel, checkDnsSubdomain, rangeError } from '../names.ts';
import { validateNoBacksteps } from '../pod/paths.ts';
import { validateNodeSelector } from '../pod/scheduling.ts';
import { requireText } from '../pod/volume-items.ts';
import { validateCsiDriverName, validateFibreChannel, validateIscsiName } from '../pod/volumes-remote.ts';
import { validateHostPath } from '../pod/volumes.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];

/**
 * Every source, in the order of upstream's validation: the first one is validated, any other is an error. Sources
 * without a validation are not supported on this node.
 */
const sourceNames = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'glusterfs',
  'flocker',
  'nfs',
  'rbd',
  'quobyte',
  'cephfs',
  'iscsi',
  'cinder',
  'fc',
  'flexVolume',
  'azureFile',
  'vsphereVolume',
  'photonPersistentDisk',
  'portworxVolume',
  'azureDisk',
  'scaleIO',
  'local',
  'storageos',
  'csi',
] as const;
type SourceName = (typeof sourceNames)[number];

/** Validates a new volume, after defaulting (upstream: ValidatePersistentVolume). */
export function validatePersistentVolume(volume: PersistentVolume): FieldError[] {
  const errors = new FieldErrors();
  validateWholeVolume(errors, volume, {});
  return errors.list;
}

/** `anyValue`: any label value is allowed in the node affinity, as in volumes that older versions accepted. */
export function validateWholeVolume(
  errors: FieldErrors,
  { metadata, spec }: PersistentVolume,
  options: { readonly anyValue?: boolean },
): void {
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  validateModes(errors, 'spec.accessModes', spec.accessModes ?? []);
  validateCapacity(errors, 'spec.capacity', spec.capacity ?? {});
  if (spec.persistentVolumeReclaimPolicy)
    errors.oneOf('spec.persistentVolumeReclaimPolicy', spec.persistentVolumeReclaimPolicy, [
      'Delete',
      'Recycle',
      'Retain',
    ]);
  if (spec.nodeAffinity !== undefined) {
    if (spec.nodeAffinity.required === undefined)
      errors.required('spec.nodeAffinity.required', 'must specify required node constraints');
    else validateNodeSelector(errors, 'spec.nodeAffinity.required', spec.nodeAffinity.required, options);
  }
  validateSource(errors, spec, metadata.name);
  validateClasses(errors, spec);
}

function validateModes(errors: FieldErrors, field: string, modes: readonly string[]): void {
  if (modes.length === 0) errors.required(field);
  for (const mode of modes) errors.oneOf(field, mode, accessModes);
  const known = modes.filter((mode) => accessModes.includes(mode));
  if (known.includes('ReadWriteOncePod') && known.some((mode) => mode !== 'ReadWriteOncePod'))
    errors.forbidden(field, 'may not use ReadWriteOncePod with other access modes');
}

function validateCapacity(errors: FieldErrors, field: string, capacity: Readonly<Record<string, string>>): void {
  const amounts = Object.entries(capacity);
  if (amounts.length === 0) errors.required(field);
  if (capacity['storage'] === undefined || amounts.length > 1) errors.notSupported(field, capacity, ['storage']);
  for (const [name, amount] of amounts) {
    if (parseQuantity(amount).nanos < 0n)
      errors.invalid(`${field}[${name}]`, amount, 'must be a valid resource quantity');
    if (quantitySign(amount) <= 0) errors.invalid(`${field}[${name}]`, amount, 'must be greater than zero');
  }
}

function validateSource(errors: FieldErrors, spec: PersistentVolumeSpec, name: string): void {
  let found = 0;
  for (const source of sourceNames) {
    if (spec[source] === undefined) continue;
    if (found > 0 && source !== 'flexVolume')
      errors.forbidden(`spec.${source === 'cephfs' ? 'cephFS' : source}`, 'may not specify more than 1 volume type');
    else checks[source]?.(errors, spec, name);
    found++;
  }
  if (found === 0) errors.required('spec', 'must specify a volume type');
}

const checks: {
  readonly [Name in SourceName]?: (errors: FieldErrors, spec: PersistentVolumeSpec, name: string) => void;
} = {
  hostPath: (errors, { hostPath }) => hostPath && validateHostPath(errors, 'spec.hostPath', hostPath),
  nfs: (errors, { nfs }) => {
    requireText(errors, 'spec.nfs.server', nfs?.server);
    requireText(errors, 'spec.nfs.path', nfs?.path);
    if (!(nfs?.path ?? '').startsWith('/'))
      errors.invalid('spec.nfs.path', nfs?.path ?? '', 'must be an absolute path');
  },
  iscsi: (errors, { iscsi }, name) => iscsi && validateIscsi(errors, 'spec.iscsi', iscsi, name),
  fc: (errors, { fc }) => fc && validateFibreChannel(errors, 'spec.fc', fc),
  flexVolume: (errors, { flexVolume }) => {
    requireText(errors, 'spec.flexVolume.driver', flexVolume?.driver);
    for (const key of Object.keys(flexVolume?.options ?? {})) {
      const namespace = `.${(key.split('/')[0] ?? '').toLowerCase()}`;
      if (namespace.endsWith('.kubernetes.io') || namespace.endsWith('.k8s.io'))
        errors.invalid(`spec.flexVolume.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved');
    }
  },
  local: (errors, { local, nodeAffinity }) => {
    if (local?.path === '') errors.required('spec.local.path');
    else validateNoBacksteps(errors, 'spec.local.path', local?.path ?? '');
    if (nodeAffinity === undefined) errors.required('spec.nodeAffinity', 'Local volume requires node affinity');
  },
  csi: (errors, { csi }) => csi && validateCsi(errors, 'spec.csi', csi),
};

function validateIscsi(errors: FieldErrors, at: string, iscsi: ISCSIPersistentVolumeSource, name: string): void {
  requireText(errors, `${at}.targetPortal`, iscsi.targetPortal);
  if (iscsi.initiatorName !== undefined && `${name}:${iscsi.targetPortal}`.length > 64) {
    errors.invalid(
      `${at}.targetportal`,
      iscsi.targetPortal,
      'Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified.',
    );
  }
  if (iscsi.iqn === '') errors.required(`${at}.iqn`);
  else validateIscsiName(errors, `${at}.iqn`, iscsi.iqn, 'must be valid format');
  if (iscsi.lun < 0 || iscsi.lun > 255) errors.invalid(`${at}.lun`, iscsi.lun, rangeError(0, 255));
  if ((iscsi.chapAuthDiscovery === true || iscsi.chapAuthSession === true) && iscsi.secretRef === undefined)
    errors.required(`${at}.secretRef`);
  if (iscsi.secretRef !== undefined && !iscsi.secretRef.name) errors.required(`${at}.secretRef.name`);
  if (iscsi.initiatorName !== undefined)
    validateIscsiName(errors, `${at}.initiatorname`, iscsi.initiatorName, 'must be valid format');
}

function validateCsi(errors: FieldErrors, at: string, csi: CSIPersistentVolumeSource): void {
  validateCsiDriverName(errors, `${at}.driver`, csi.driver);
  requireText(errors, `${at}.volumeHandle`, csi.volumeHandle);
  for (const field of [
    'controllerPublishSecretRef',
    'controllerExpandSecretRef',
    'nodePublishSecretRef',
    'nodeExpandSecretRef',
  ] as const) {
    const secret = csi[field];
    if (secret !== undefined) validateSecretReference(errors, `${at}.${field}`, secret);
  }
}

function validateSecretReference(
  errors: FieldErrors,
  at: string,
  { name = '', namespace = '' }: SecretReference,
): void {
  if (name === '') errors.required(`${at}.name`);
  else errors.invalidEach(`${at}.name`, name, checkDnsSubdomain(name));
  if (namespace === '') errors.required(`${at}.namespace`);
  else errors.invalidEach(`${at}.namespace`, namespace, checkDnsLabel(namespace));
}

function validateClasses(errors: FieldErrors, spec: PersistentVolumeSpec): void {
  const { hostPath, persistentVolumeReclaimPolicy, storageClassName, volumeMode, volumeAttributesClassName, csi } =
    spec;
  if (
    hostPath !== undefined &&
    /^\/+$/.test(path.normalize(hostPath.path)) &&
    persistentVolumeReclaimPolicy === 'Recycle'
  ) {
    errors.forbidden('spec.persistentVolumeReclaimPolicy', "may not be 'recycle' for a hostPath mount of '/'");
  }
  if (storageClassName)
    errors.invalidEach('spec.storageClassName', storageClassName, checkDnsSubdomain(storageClassName));
  if (volumeMode !== undefined) errors.oneOf('spec.volumeMode', volumeMode, ['Block', 'Filesystem']);
  if (volumeAttributesClassName === undefined) return;
  if (volumeAttributesClassName === '')
    errors.required('spec.volumeAttributesClassName', 'an empty string is disallowed');
  else
    errors.invalidEach(
      'spec.volumeAttributesClassName',
      volumeAttributesClassName,
      checkDnsSubdomain(volumeAttributesClassName),
    );
  if (csi === undefined) errors.required('spec.csi', 'has to be specified when using volumeAttributesClassName');
}
