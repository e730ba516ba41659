import { lookupTable } from '../../../base/lookup.ts';
import type { VolumeSpec } from '../../ports/volume-plugin.ts';

/** Kinds that upstream supports through a CSI driver only (pkg/volume/csimigration). */
const MOVED_TO_CSI: Readonly<Record<string, string>> = lookupTable({
  gcePersistentDisk: 'pd.csi.storage.gke.io',
  awsElasticBlockStore: 'ebs.csi.aws.com',
  cinder: 'cinder.csi.openstack.org',
  azureDisk: 'disk.csi.azure.com',
  azureFile: 'file.csi.azure.com',
  vsphereVolume: 'csi.vsphere.vmware.com',
  portworxVolume: 'pxd.portworx.com',
});
const removed = new Set([
  'glusterfs',
  'rbd',
  'cephfs',
  'flocker',
  'quobyte',
  'photonPersistentDisk',
  'scaleIO',
  'storageos',
]);

/** Why no plugin supports a kind that the API still has; undefined for an unknown kind. */
export function refusedKind(spec: VolumeSpec): string | undefined {
  const source = spec.kind === 'inline' ? spec.volume : spec.persistentVolume.spec;
  return Object.entries(source)
    .filter(([, value]) => value !== undefined)
    .map(([kind]) => reasonOf(kind))
    .find((reason) => reason !== undefined);
}

function reasonOf(kind: string): string | undefined {
  if (kind === 'gitRepo')
    return 'git-repo volume plugin has been disabled; if necessary, it may be re-enabled by enabling the feature-gate `GitRepoVolumeDriver`';
  const driver = MOVED_TO_CSI[kind];
  if (driver !== undefined)
    return `${kind} has moved to the CSI driver ${driver}: use a PersistentVolume with csi.driver "${driver}"`;
  return removed.has(kind) ? `no volume plugin matched: ${kind} was removed from Kubernetes` : undefined;
}
