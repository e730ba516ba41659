/**
 * Translates volumes of clouds that were once part of Kubernetes to the volumes of today's CSI drivers (upstream:
 * csi-translation-lib). Pure.
 */
import { KubeletError } from '../base/errors.ts';
import { lookupTable, ownValue } from '../base/lookup.ts';
import type { PersistentVolume, PersistentVolumeSpec } from './core/persistent-volume.ts';
import type { PersistentVolumeAccessMode } from './core/volume-source.ts';
import type { Volume } from './core/volume.ts';
import { backwardCompatibleModes, withZoneTopology } from './csi-migration-topology.ts';

type CsiSource = NonNullable<PersistentVolumeSpec['csi']>;

/** A source that the API server has validated. The fields of PersistentVolumes are not typed here. */
interface Facts {
  readonly source: Readonly<Record<string, unknown>>;
  readonly namespace: string;
  /** undefined for an inline volume. */
  readonly pv: PersistentVolume | undefined;
  /** The name of the volume in the pod, or of the PersistentVolume. */
  readonly name: string;
}

interface Translator {
  readonly plugin: string;
  readonly driver: string;
  /** The node label with the driver's zones; absent where upstream translates no topology. */
  readonly zoneKey?: string;
  readonly regionKey?: string;
  readonly csi: (facts: Facts) => Omit<CsiSource, 'driver'>;
  /** The name of an inline volume; default: driver and handle. */
  readonly inlineName?: (facts: Facts, handle: string) => string;
  readonly inlineModes?: (facts: Facts) => readonly PersistentVolumeAccessMode[];
}

const text = (facts: Facts, field: string): string => {
  const value = facts.source[field];
  return typeof value === 'string' ? value : '';
};
const isReadOnly = ({ source }: Facts): boolean => source['readOnly'] === true;
const partitionOf = ({ source }: Facts): number => (typeof source['partition'] === 'number' ? source['partition'] : 0);

/** Empty fields are left out, as in the API server. */
function csiOf(
  facts: Facts,
  { handle, ...more }: { readonly handle: string } & Partial<CsiSource>,
): Omit<CsiSource, 'driver'> {
  const fsType = text(facts, 'fsType');
  return {
    volumeHandle: handle,
    ...(isReadOnly(facts) && { readOnly: true }),
    ...(fsType !== '' && { fsType }),
    ...more,
  };
}

const readOnlyIsShared = (facts: Facts): readonly PersistentVolumeAccessMode[] => [
  isReadOnly(facts) ? 'ReadOnlyMany' : 'ReadWriteOnce',
];

const invalid = (message: string): KubeletError => new KubeletError('Invalid', message, { op: 'translate volume' });

/** `vol-1`, or `aws://zone/vol-1` in older objects. */
function ebsHandle(id: string): string {
  if (!id.startsWith('aws://')) return id;
  const handle = URL.canParse(id)
    ? new URL(id).pathname
        .split('/')
        .filter((part) => part !== '')
        .join('/')
    : '';
  if (!/^vol-[^/]*$/.test(handle)) throw invalid(`Invalid format for AWS volume (${id})`);
  return handle;
}

/** The zones of a PersistentVolume are in its labels; the driver determines the rest. */
function gceHandle(facts: Facts): string {
  const labels = facts.pv?.metadata.labels ?? {};
  const label =
    ownValue(labels, 'failure-domain.beta.kubernetes.io/zone') ?? ownValue(labels, 'topology.kubernetes.io/zone') ?? '';
  const zones = label.split('__');
  const disk = `disks/${text(facts, 'pdName')}`;
  if (zones.length === 1) return `projects/UNSPECIFIED/zones/${label === '' ? 'UNSPECIFIED' : label}/${disk}`;
  const regions = new Set(zones.map((zone) => zone.split('-').slice(0, 2).join('-')));
  const [region] = regions;
  if (regions.size !== 1 || zones.some((zone) => zone.split('-').length !== 3))
    throw invalid(`failed to get region from zones: ${label}`);
  return `projects/UNSPECIFIED/regions/${region}/${disk}`;
}

function azureDisk(facts: Facts): Omit<CsiSource, 'driver'> {
  const [kind, cachingMode, fsType] = ['kind', 'cachingMode', 'fsType'].map((field) => text(facts, field));
  if (kind !== undefined && kind !== '' && kind.toLowerCase() !== 'managed')
    throw invalid(`kind(${kind}) is not supported in csi migration`);
  const volumeAttributes = {
    kind: 'Managed',
    ...(cachingMode !== '' && { cachingmode: cachingMode }),
    ...(fsType !== '' && { fstype: fsType }),
  } as Record<string, string>;
  return csiOf(facts, { handle: text(facts, 'diskURI'), volumeAttributes });
}

function azureFile(facts: Facts): Omit<CsiSource, 'driver'> {
  const { pv, name } = facts;
  const secretName = text(facts, 'secretName');
  const shareName = text(facts, 'shareName');
  const account = /azure-storage-account-(.+)-secret/.exec(secretName)?.[1] ?? secretName;
  const inline = facts.namespace === '' ? 'default' : facts.namespace;
  const claimed = 'secretNamespace' in facts.source ? text(facts, 'secretNamespace') : pv?.spec.claimRef?.namespace;
  const namespace = pv === undefined ? inline : (claimed ?? '');
  if (namespace === '') throw invalid('could not find a secret namespace in PersistentVolumeSource or ClaimRef');
  const group = pv?.metadata.annotations?.['kubernetes.io/azure-file-resource-group'] ?? '';
  return csiOf(facts, {
    handle: [group, account, shareName, name, namespace].join('#'),
    volumeAttributes: { sharename: shareName },
    nodeStageSecretRef: { name: secretName, namespace },
  });
}

function portworx(facts: Facts): Omit<CsiSource, 'driver'> {
  const annotations = facts.pv?.metadata.annotations ?? {};
  const name = ownValue(annotations, 'openstorage.io/auth-secret-name');
  const namespace = ownValue(annotations, 'openstorage.io/auth-secret-namespace');
  const secret = name === undefined || namespace === undefined ? undefined : { name, namespace };
  // The driver uses the access mode.
  const { readOnly: _, ...csi } = csiOf(facts, { handle: text(facts, 'volumeID') });
  if (secret === undefined) return csi;
  return {
    ...csi,
    controllerPublishSecretRef: secret,
    nodeStageSecretRef: secret,
    nodePublishSecretRef: secret,
    controllerExpandSecretRef: secret,
    nodeExpandSecretRef: secret,
  };
}

const translators: Readonly<Record<string, Translator>> = lookupTable({
  awsElasticBlockStore: {
    plugin: 'kubernetes.io/aws-ebs',
    driver: 'ebs.csi.aws.com',
    zoneKey: 'topology.ebs.csi.aws.com/zone',
    csi: (facts) =>
      csiOf(facts, {
        handle: ebsHandle(text(facts, 'volumeID')),
        volumeAttributes: { partition: String(partitionOf(facts)) },
      }),
  },
  gcePersistentDisk: {
    plugin: 'kubernetes.io/gce-pd',
    driver: 'pd.csi.storage.gke.io',
    zoneKey: 'topology.gke.io/zone',
    csi: (facts) => {
      const partition = partitionOf(facts);
      const volumeAttributes = { partition: partition === 0 ? '' : String(partition) };
      return csiOf(facts, { handle: gceHandle(facts), volumeAttributes });
    },
    inlineName: (facts) => `pd.csi.storage.gke.io-${text(facts, 'pdName')}`,
    inlineModes: readOnlyIsShared,
  },
  azureDisk: {
    plugin: 'kubernetes.io/azure-disk',
    driver: 'disk.csi.azure.com',
    csi: azureDisk,
    inlineName: (_, handle) => handle,
  },
  azureFile: {
    plugin: 'kubernetes.io/azure-file',
    driver: 'file.csi.azure.com',
    csi: azureFile,
    inlineName: (_, handle) => handle,
    inlineModes: () => ['ReadWriteMany'],
  },
  cinder: {
    plugin: 'kubernetes.io/cinder',
    driver: 'cinder.csi.openstack.org',
    zoneKey: 'topology.cinder.csi.openstack.org/zone',
    csi: (facts) => csiOf(facts, { handle: text(facts, 'volumeID') }),
  },
  vsphereVolume: {
    plugin: 'kubernetes.io/vsphere-volume',
    driver: 'csi.vsphere.vmware.com',
    zoneKey: 'topology.csi.vmware.com/zone',
    regionKey: 'topology.csi.vmware.com/region',
    csi: (facts) => {
      const policy = text(facts, 'storagePolicyName');
      const attributes = policy === '' ? {} : { volumeAttributes: { storagepolicyname: policy } };
      return csiOf(facts, { handle: text(facts, 'volumePath'), ...attributes });
    },
  },
  portworxVolume: {
    plugin: 'kubernetes.io/portworx-volume',
    driver: 'pxd.portworx.com',
    csi: portworx,
    inlineModes: readOnlyIsShared,
  },
});

/** In-tree plugins whose volumes CSI drivers serve, by their names in CSINodes. */
export const migratedPlugins: readonly string[] = Object.values(translators)
  .map(({ plugin }) => plugin)
  .sort();

function translatorOf(source: object): { readonly kind: string; readonly translator: Translator } | undefined {
  for (const [kind, translator] of Object.entries(translators))
    if (ownValue(source as Readonly<Record<string, unknown>>, kind) !== undefined) return { kind, translator };
  return undefined;
}

const sourceIn = (from: object, kind: string): Facts['source'] =>
  ({ ...(ownValue(from as Readonly<Record<string, unknown>>, kind) as object) }) as Facts['source'];

/**
 * The PersistentVolume for a volume of a pod. Undefined for kinds without a CSI driver; throws `Invalid` for volumes
 * that upstream cannot translate.
 */
export function migratedInline(volume: Volume, namespace: string): PersistentVolume | undefined {
  const found = translatorOf(volume);
  if (found === undefined) return undefined;
  const { kind, translator } = found;
  const facts: Facts = { source: sourceIn(volume, kind), namespace, pv: undefined, name: volume.name };
  const csi = { driver: translator.driver, ...translator.csi(facts) };
  const name = translator.inlineName?.(facts, csi.volumeHandle) ?? `${translator.driver}-${csi.volumeHandle}`;
  return {
    metadata: { name, namespace: '', uid: '' },
    spec: { csi, accessModes: [...(translator.inlineModes?.(facts) ?? ['ReadWriteOnce' as const])] },
  };
}

/**
 * The translated volume; the same object if there is nothing to translate. Throws `Invalid` for volumes that upstream
 * cannot translate.
 */
export function migratedVolume(pv: PersistentVolume): PersistentVolume {
  const found = translatorOf(pv.spec);
  if (found === undefined) return pv;
  const { kind, translator } = found;
  const facts: Facts = { source: sourceIn(pv.spec, kind), namespace: '', pv, name: pv.metadata.name };
  const csi = { driver: translator.driver, ...translator.csi(facts) };
  const { [kind as 'cinder']: _, accessModes, ...rest } = pv.spec;
  const modes = kind === 'gcePersistentDisk' ? backwardCompatibleModes(accessModes) : accessModes;
  const spec = { ...rest, csi, ...(modes !== undefined && { accessModes: modes }) };
  const moved = { ...pv, spec };
  return translator.zoneKey === undefined
    ? moved
    : withZoneTopology(moved, { zone: translator.zoneKey, region: translator.regionKey });
}

/** Like `migratedVolume`, for callers that cannot handle errors: a volume that cannot be translated stays as it is. */
export function csiFormOf(pv: PersistentVolume): PersistentVolume {
  try {
    return migratedVolume(pv);
  } catch {
    return pv;
  }
}

/** Like `migratedInline`; also undefined for a volume that cannot be translated. */
export function inlineCsiForm(volume: Volume, namespace: string): PersistentVolume | undefined {
  try {
    return migratedInline(volume, namespace);
  } catch {
    return undefined;
  }
}
