/** Rules of storage.k8s.io/v1, except for CSI drivers (upstream: storage/validation). Objects are defaulted. */
import type { PersistentVolumeSpec } from '../../core/persistent-volume.ts';
import type { CSIDriver } from '../../storage/csi-driver.ts';
import type { CSINode, CSINodeDriver } from '../../storage/csi-node.ts';
import type { StorageClass, TopologySelectorTerm } from '../../storage/storage-class.ts';
import type { VolumeAttachment, VolumeAttachmentSource, VolumeError } from '../../storage/volume-attachment.ts';
import { semanticEqual } from '../../semantic-equal.ts';
import { FieldErrors } from '../field-error.ts';
import type { FieldError } from '../field-error.ts';
import { validateImmutable } from '../immutable.ts';
import { validateObjectMeta } from '../metadata.ts';
import { byteLength, checkDnsSubdomain, checkLabelKey, INT32_MAX, rangeError } from '../names.ts';
import { validateCsiDriverSpec } from './validate-csi-driver.ts';
import { validateCsiDriverName } from '../pod/volumes-remote.ts';

const MAX_PARAMETERS = 512;
const MAX_PARAMETER_BYTES = 256 * 1024;
const MAX_METADATA_BYTES = 256 * 1024;
const MAX_ERROR_BYTES = 1024;
const MAX_NODE_ID_LENGTH = 256;

export function validateStorageClass(storageClass: StorageClass): FieldError[] {
  const errors = new FieldErrors();
  const { provisioner, parameters = {}, reclaimPolicy, volumeBindingMode, allowedTopologies = [] } = storageClass;
  validateObjectMeta(errors, 'metadata', storageClass.metadata, { clusterScoped: true });
  validateProvisioner(errors, 'provisioner', provisioner);
  validateParameters(errors, parameters);
  if (reclaimPolicy) errors.oneOf('reclaimPolicy', reclaimPolicy, ['Delete', 'Retain']);
  if (volumeBindingMode === undefined) errors.required('volumeBindingMode');
  else errors.oneOf('volumeBindingMode', volumeBindingMode, ['Immediate', 'WaitForFirstConsumer']);
  validateTopologies(errors, allowedTopologies);
  return errors.list;
}

export function validateProvisioner(errors: FieldErrors, field: string, provisioner: string): void {
  if (provisioner === '') errors.required(field);
  else errors.invalidEach(field, provisioner.toLowerCase(), checkLabelKey(provisioner.toLowerCase()));
}

/** Validates the parameters of provisioners and of attributes classes. */
export function validateParameters(errors: FieldErrors, parameters: Readonly<Record<string, string>>): void {
  const names = Object.keys(parameters);
  if (names.length > MAX_PARAMETERS) return errors.tooLong('parameters', MAX_PARAMETERS);
  for (const name of names) if (name === '') errors.invalid('parameters', name, 'field can not be empty.');
  if (totalBytes(parameters) > MAX_PARAMETER_BYTES) errors.tooLong('parameters', MAX_PARAMETER_BYTES);
}

export function validateStorageClassUpdate(storageClass: StorageClass, old: StorageClass): FieldError[] {
  const errors = new FieldErrors();
  for (const field of ['parameters', 'provisioner', 'reclaimPolicy', 'volumeBindingMode'] as const)
    validateImmutable(errors, field, storageClass[field], old[field]);
  return errors.list;
}

function validateTopologies(errors: FieldErrors, terms: readonly TopologySelectorTerm[]): void {
  const seen = new Set<string>();
  for (const [index, { matchLabelExpressions = [] }] of terms.entries()) {
    const at = `allowedTopologies[${index}].matchLabelExpressions`;
    const byKey: Record<string, readonly string[]> = {};
    for (const [position, { key, values }] of matchLabelExpressions.entries()) {
      const path = `${at}[${position}]`;
      if (values.length === 0) errors.required(`${path}.values`);
      const known = new Set<string>();
      for (const [place, value] of values.entries()) {
        if (known.has(value)) errors.duplicate(`${path}.values[${place}]`, value);
        known.add(value);
      }
      errors.invalidEach(`${path}.key`, key, checkLabelKey(key));
      if (Object.hasOwn(byKey, key)) errors.duplicate(`${path}.key`, key);
      byKey[key] = [...known].sort();
    }
    const text = JSON.stringify(Object.entries(byKey).sort(([one], [other]) => (one < other ? -1 : 1)));
    if (seen.has(text)) errors.duplicate(at, '');
    seen.add(text);
  }
}

export function validateCsiNode({ metadata, spec }: CSINode): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  const names = new Set<string>();
  for (const [index, driver] of spec.drivers.entries()) {
    validateNodeDriver(errors, `spec.drivers[${index}]`, driver);
    if (names.has(driver.name)) errors.duplicate(`spec.drivers[${index}].name`, driver.name);
    names.add(driver.name);
  }
  return errors.list;
}

function validateNodeDriver(
  errors: FieldErrors,
  path: string,
  { name, nodeID, topologyKeys, allocatable }: CSINodeDriver,
): void {
  validateCsiDriverName(errors, `${path}.name`, name);
  if (nodeID === '') errors.required(`${path}.nodeID`);
  if (byteLength(nodeID) > MAX_NODE_ID_LENGTH)
    errors.invalid(`${path}.nodeID`, nodeID, `must be ${MAX_NODE_ID_LENGTH} characters or less`);
  errors.nonNegative(`${path}.allocatable.count`, allocatable?.count);
  const seen = new Set<string>();
  for (const key of topologyKeys) {
    if (key === '') errors.required(path);
    if (seen.has(key)) errors.duplicate(path, key);
    seen.add(key);
    errors.invalidEach(path, key, checkLabelKey(key));
  }
}

/** An existing driver may only change the number of volumes. */
export function validateCsiNodeUpdate(node: CSINode, old: CSINode): FieldError[] {
  const errors = new FieldErrors();
  errors.list.push(...validateCsiNode(node));
  const fixed = ({ allocatable: _, ...rest }: CSINodeDriver): Omit<CSINodeDriver, 'allocatable'> => rest;
  const now = new Map(node.spec.drivers.map((driver) => [driver.name, driver]));
  for (const before of old.spec.drivers) {
    const driver = now.get(before.name);
    if (driver !== undefined) validateImmutable(errors, 'spec.drivers', fixed(driver), fixed(before));
  }
  return errors.list;
}

/** The first name is a mistake of upstream. */
export function validateCsiDriverUpdate(driver: CSIDriver, old: CSIDriver): FieldError[] {
  const errors = new FieldErrors();
  validateCsiDriverSpec(errors, driver.spec);
  validateImmutable(errors, 'spec.attachedRequired', driver.spec.attachRequired, old.spec.attachRequired);
  validateImmutable(
    errors,
    'spec.volumeLifecycleModes',
    driver.spec.volumeLifecycleModes,
    old.spec.volumeLifecycleModes,
  );
  return errors.list;
}

export function validateVolumeAttachment({ metadata, spec, status }: VolumeAttachment): FieldError[] {
  const errors = new FieldErrors();
  validateObjectMeta(errors, 'metadata', metadata, { clusterScoped: true });
  validateCsiDriverName(errors, 'spec.attacher', spec.attacher);
  validateAttachmentSource(errors, 'spec.source', spec.source);
  errors.invalidEach('spec.nodeName', spec.nodeName, checkDnsSubdomain(spec.nodeName));
  if (totalBytes(status?.attachmentMetadata ?? {}) > MAX_METADATA_BYTES)
    errors.tooLong('status.attachmentMetadata', MAX_METADATA_BYTES);
  validateVolumeError(errors, 'status.attachError', status?.attachError);
  validateVolumeError(errors, 'status.detachError', status?.detachError);
  const name = spec.source.persistentVolumeName;
  if (name !== undefined) errors.invalidEach('spec.source.persistentVolumeName', name, checkDnsSubdomain(name));
  return errors.list;
}

export function validateVolumeAttachmentUpdate(attachment: VolumeAttachment, old: VolumeAttachment): FieldError[] {
  const errors = new FieldErrors();
  errors.list.push(...validateVolumeAttachment(attachment));
  validateImmutable(errors, 'spec', attachment.spec, old.spec);
  return errors.list;
}

function validateAttachmentSource(
  errors: FieldErrors,
  path: string,
  { inlineVolumeSpec, persistentVolumeName }: VolumeAttachmentSource,
): void {
  const exactlyOne = 'must specify exactly one of inlineVolumeSpec and persistentVolumeName';
  if (inlineVolumeSpec === undefined && persistentVolumeName === undefined) errors.required(path, exactlyOne);
  else if (inlineVolumeSpec !== undefined && persistentVolumeName !== undefined) errors.forbidden(path, exactlyOne);
  else if (persistentVolumeName === '')
    errors.required(`${path}.persistentVolumeName`, 'must specify non empty persistentVolumeName');
  else if (inlineVolumeSpec !== undefined) validateInline(errors, `${path}.inlineVolumeSpec`, inlineVolumeSpec);
}

/** Validates a volume of a cloud in a pod that CSI serves now. */
function validateInline(errors: FieldErrors, path: string, spec: PersistentVolumeSpec): void {
  for (const field of ['claimRef', 'capacity', 'nodeAffinity', 'storageClassName'] as const) {
    if (!semanticEqual(spec[field], undefined))
      errors.forbidden(`${path}.${field}`, 'may not be specified in the context of inline volumes');
  }
  if (spec.csi === undefined) errors.required(`${path}.csi`, 'has to be specified in the context of inline volumes');
  else validateCsiDriverName(errors, `${path}.csi.driver`, spec.csi.driver);
  if (spec.csi?.volumeHandle === '') errors.required(`${path}.csi.volumeHandle`);
  if ((spec.accessModes ?? []).length === 0) errors.required(`${path}.accessModes`);
  if (spec.persistentVolumeReclaimPolicy && spec.persistentVolumeReclaimPolicy !== 'Retain')
    errors.forbidden(`${path}.persistentVolumeReclaimPolicy`, 'may only be Retain in the context of inline volumes');
  if (spec.volumeMode !== undefined && spec.volumeMode !== 'Filesystem')
    errors.forbidden(
      `${path}.volumeMode`,
      'may not specify volumeMode other than Filesystem in the context of inline volumes',
    );
}

function validateVolumeError(errors: FieldErrors, path: string, error: VolumeError | undefined): void {
  // The limit in the message is upstream's slip.
  if (byteLength(error?.message ?? '') > MAX_ERROR_BYTES) errors.tooLong(`${path}.message`, MAX_METADATA_BYTES);
  const code = error?.errorCode;
  if (code !== undefined && code < 0) errors.invalid(`${path}.errorCode`, code, rangeError(0, INT32_MAX));
}

function totalBytes(texts: Readonly<Record<string, string>>): number {
  return Object.entries(texts).reduce((sum, [key, value]) => sum + byteLength(key) + byteLength(value), 0);
}
