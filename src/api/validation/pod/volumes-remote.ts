import { lookupTable } from '../../../base/lookup.ts';
import type { Volume } from '../../core/volume.ts';
import type { FieldErrors } from '../field-error.ts';
import { checkDnsLabel, checkDnsSubdomain, rangeError } from '../names.ts';
import { validateDescendingPath } from './paths.ts';

type Check = (errors: FieldErrors, path: string, volume: Volume) => void;
type RemoteName =
  | 'gitRepo'
  | 'gcePersistentDisk'
  | 'awsElasticBlockStore'
  | 'nfs'
  | 'iscsi'
  | 'glusterfs'
  | 'flocker'
  | 'rbd'
  | 'cinder'
  | 'cephfs'
  | 'quobyte'
  | 'fc'
  | 'flexVolume'
  | 'azureFile'
  | 'vsphereVolume'
  | 'photonPersistentDisk'
  | 'portworxVolume'
  | 'azureDisk'
  | 'storageos'
  | 'scaleIO'
  | 'csi';

/** Checks of sources with storage outside of the node (upstream: the validate...VolumeSource functions). */
export const remoteSources: Readonly<Record<RemoteName, { readonly check: Check }>> = {
  gitRepo: {
    check: (errors, path, { gitRepo }) => {
      needs(errors, path, { repository: gitRepo?.repository });
      validateDescendingPath(errors, `${path}.directory`, gitRepo?.directory ?? '');
    },
  },
  gcePersistentDisk: {
    check: (errors, path, { gcePersistentDisk: disk }) => {
      needs(errors, path, { pdName: disk?.pdName });
      validatePartition(errors, `${path}.partition`, disk?.partition);
    },
  },
  awsElasticBlockStore: {
    check: (errors, path, { awsElasticBlockStore: disk }) => {
      needs(errors, path, { volumeID: disk?.volumeID });
      validatePartition(errors, `${path}.partition`, disk?.partition);
    },
  },
  nfs: {
    check: (errors, path, { nfs }) => {
      needs(errors, path, { server: nfs?.server, path: nfs?.path });
      if (!(nfs?.path ?? '').startsWith('/'))
        errors.invalid(`${path}.path`, nfs?.path ?? '', 'must be an absolute path');
    },
  },
  iscsi: { check: (errors, path, { iscsi }) => iscsi && validateIscsi(errors, path, iscsi) },
  glusterfs: {
    check: (errors, path, { glusterfs }) =>
      needs(errors, path, { endpoints: glusterfs?.endpoints, path: glusterfs?.path }),
  },
  flocker: { check: (errors, path, { flocker }) => flocker && validateFlocker(errors, path, flocker) },
  rbd: { check: (errors, path, { rbd }) => needs(errors, path, { monitors: rbd?.monitors, image: rbd?.image }) },
  cinder: {
    check: (errors, path, { cinder }) => {
      needs(errors, path, { volumeID: cinder?.volumeID });
      if (cinder?.secretRef?.name === '') errors.required(`${path}.secretRef.name`);
    },
  },
  cephfs: { check: (errors, path, { cephfs }) => needs(errors, path, { monitors: cephfs?.monitors }) },
  quobyte: { check: (errors, path, { quobyte }) => quobyte && validateQuobyte(errors, path, quobyte) },
  fc: { check: (errors, path, { fc }) => fc && validateFibreChannel(errors, path, fc) },
  flexVolume: {
    check: (errors, path, { flexVolume }) => {
      needs(errors, path, { driver: flexVolume?.driver });
      for (const key of Object.keys(flexVolume?.options ?? {})) {
        const namespace = `.${(key.split('/')[0] ?? '').toLowerCase()}`;
        const reserved = namespace.endsWith('.kubernetes.io') || namespace.endsWith('.k8s.io');
        if (reserved)
          errors.invalid(`${path}.options[${key}]`, key, 'kubernetes.io and k8s.io namespaces are reserved');
      }
    },
  },
  azureFile: {
    check: (errors, path, { azureFile }) =>
      needs(errors, path, { secretName: azureFile?.secretName, shareName: azureFile?.shareName }),
  },
  vsphereVolume: {
    check: (errors, path, { vsphereVolume }) => needs(errors, path, { volumePath: vsphereVolume?.volumePath }),
  },
  photonPersistentDisk: {
    check: (errors, path, { photonPersistentDisk }) => needs(errors, path, { pdID: photonPersistentDisk?.pdID }),
  },
  portworxVolume: {
    check: (errors, path, { portworxVolume }) => needs(errors, path, { volumeID: portworxVolume?.volumeID }),
  },
  azureDisk: { check: (errors, path, { azureDisk }) => azureDisk && validateAzureDisk(errors, path, azureDisk) },
  storageos: { check: (errors, path, { storageos }) => storageos && validateStorageOs(errors, path, storageos) },
  scaleIO: {
    check: (errors, path, { scaleIO }) =>
      needs(errors, path, { gateway: scaleIO?.gateway, system: scaleIO?.system, volumeName: scaleIO?.volumeName }),
  },
  csi: { check: (errors, path, { csi }) => csi && validateCsi(errors, path, csi) },
};

function needs(
  errors: FieldErrors,
  path: string,
  fields: Readonly<Record<string, string | readonly string[] | undefined>>,
): void {
  for (const [name, value] of Object.entries(fields))
    if (value === undefined || value.length === 0) errors.required(`${path}.${name}`);
}

function validatePartition(errors: FieldErrors, field: string, partition = 0): void {
  if (partition < 0 || partition > 255) errors.invalid(field, partition, rangeError(1, 255));
}

const iscsiPatterns: Readonly<Record<string, RegExp>> = lookupTable({
  iqn: /^iqn\.\d{4}-\d{2}\.([A-Za-z0-9-.]+)(:[^,;*&$|\s]+)$/,
  eui: /^eui.[A-Za-z0-9]{16}$/,
  naa: /^naa.[A-Za-z0-9]{32}$/,
});

export function validateIscsiName(
  errors: FieldErrors,
  field: string,
  name: string,
  unknownFormat = 'must be valid format starting with iqn, eui, or naa',
): void {
  const pattern = iscsiPatterns[name.slice(0, 3)];
  if (pattern === undefined) errors.invalid(field, name, unknownFormat);
  else if (!pattern.test(name)) errors.invalid(field, name, 'must be valid format');
}

function validateIscsi(errors: FieldErrors, path: string, iscsi: NonNullable<Volume['iscsi']>): void {
  needs(errors, path, { targetPortal: iscsi.targetPortal, iqn: iscsi.iqn });
  if (iscsi.iqn !== '') validateIscsiName(errors, `${path}.iqn`, iscsi.iqn);
  if (iscsi.lun < 0 || iscsi.lun > 255) errors.invalid(`${path}.lun`, iscsi.lun, rangeError(0, 255));
  if ((iscsi.chapAuthDiscovery === true || iscsi.chapAuthSession === true) && iscsi.secretRef === undefined)
    errors.required(`${path}.secretRef`);
  if (iscsi.initiatorName !== undefined) validateIscsiName(errors, `${path}.initiatorname`, iscsi.initiatorName);
}

function validateFlocker(
  errors: FieldErrors,
  path: string,
  { datasetName = '', datasetUUID = '' }: NonNullable<Volume['flocker']>,
): void {
  if (datasetName === '' && datasetUUID === '') errors.required(path, 'one of datasetName and datasetUUID is required');
  if (datasetName !== '' && datasetUUID !== '')
    errors.invalid(path, 'resource', 'datasetName and datasetUUID can not be specified simultaneously');
  if (datasetName.includes('/')) errors.invalid(`${path}.datasetName`, datasetName, "must not contain '/'");
}

function validateQuobyte(errors: FieldErrors, path: string, quobyte: NonNullable<Volume['quobyte']>): void {
  const pairs = 'must be a host:port pair or multiple pairs separated by commas';
  if (quobyte.registry === '') errors.required(`${path}.registry`, pairs);
  else if ((quobyte.tenant ?? '').length >= 65)
    errors.required(`${path}.tenant`, 'must be a UUID and may not exceed a length of 64 characters');
  else
    for (const pair of quobyte.registry.split(','))
      if (!/^(?:[^:[\]]*|\[[^[\]]*\]):[^:[\]]*$/.test(pair))
        errors.invalid(`${path}.registry`, quobyte.registry, pairs);
  needs(errors, path, { volume: quobyte.volume });
}

export function validateFibreChannel(
  errors: FieldErrors,
  path: string,
  { targetWWNs = [], wwids = [], lun }: NonNullable<Volume['fc']>,
): void {
  if (targetWWNs.length === 0 && wwids.length === 0)
    errors.required(`${path}.targetWWNs`, 'must specify either targetWWNs or wwids, but not both');
  if (targetWWNs.length > 0 && wwids.length > 0)
    errors.invalid(`${path}.targetWWNs`, targetWWNs, 'targetWWNs and wwids can not be specified simultaneously');
  if (targetWWNs.length === 0) return;
  if (lun === undefined) errors.required(`${path}.lun`, 'lun is required if targetWWNs is specified');
  else if (lun < 0 || lun > 255) errors.invalid(`${path}.lun`, lun, rangeError(0, 255));
}

function validateAzureDisk(errors: FieldErrors, path: string, disk: NonNullable<Volume['azureDisk']>): void {
  needs(errors, path, { diskName: disk.diskName, diskURI: disk.diskURI });
  if (disk.cachingMode !== undefined)
    errors.oneOf(`${path}.cachingMode`, disk.cachingMode, ['None', 'ReadOnly', 'ReadWrite']);
  if (disk.kind === undefined) return;
  errors.oneOf(`${path}.kind`, disk.kind, ['Dedicated', 'Managed', 'Shared']);
  const managed = disk.kind === 'Managed';
  if (managed && !disk.diskURI.startsWith('/subscriptions/')) {
    errors.notSupported(`${path}.diskURI`, disk.diskURI, [
      '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}',
    ]);
  }
  if (!managed && !disk.diskURI.startsWith('https://')) {
    errors.notSupported(`${path}.diskURI`, disk.diskURI, [
      'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd',
    ]);
  }
}

function validateStorageOs(errors: FieldErrors, path: string, storage: NonNullable<Volume['storageos']>): void {
  needs(errors, path, { volumeName: storage.volumeName });
  if (storage.volumeName)
    errors.invalidEach(`${path}.volumeName`, storage.volumeName, checkDnsLabel(storage.volumeName));
  if (storage.volumeNamespace)
    errors.invalidEach(`${path}.volumeNamespace`, storage.volumeNamespace, checkDnsLabel(storage.volumeNamespace));
  if (storage.secretRef?.name === '') errors.required(`${path}.secretRef.name`);
}

function validateCsi(errors: FieldErrors, path: string, csi: NonNullable<Volume['csi']>): void {
  validateCsiDriverName(errors, `${path}.driver`, csi.driver);
  const secret = csi.nodePublishSecretRef?.name;
  if (secret === '') errors.required(`${path}.nodePublishSecretRef.name`);
  else if (secret !== undefined) errors.invalidEach(`${path}.name`, secret, checkDnsSubdomain(secret));
}

export function validateCsiDriverName(errors: FieldErrors, field: string, driver: string): void {
  if (driver === '') return errors.required(field);
  if (driver.length > 63) errors.tooLong(field, 63);
  errors.invalidEach(field, driver, checkDnsSubdomain(driver.toLowerCase()));
}
