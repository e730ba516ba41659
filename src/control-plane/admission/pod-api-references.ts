import { lookupTable } from '../../base/lookup.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Volume } from '../../api/core/volume.ts';
import { configMapNames, secretNames } from '../../api/pod-references.ts';

/** Volumes that need no API object. Unknown kinds are treated as if they needed one. */
const allowedSources: ReadonlySet<string> = new Set(
  (
    'awsElasticBlockStore azureDisk cephfs cinder downwardAPI emptyDir fc flexVolume flocker gcePersistentDisk gitRepo hostPath image iscsi nfs photonPersistentDisk ' +
    'portworxVolume quobyte rbd scaleIO storageos vsphereVolume'
  ).split(' '),
);

const needing: Readonly<Record<string, string>> = lookupTable({
  configMap: 'configmaps (via configmap volumes)',
  secret: 'secrets (via secret volumes)',
  csi: 'csidrivers (via CSI volumes)',
  glusterfs: 'endpoints (via glusterFS volumes)',
  persistentVolumeClaim: 'persistentvolumeclaims',
  ephemeral: 'persistentvolumeclaims (via ephemeral volumes)',
  azureFile: 'secrets (via azureFile volumes)',
});

const needingSources: Readonly<Record<string, string>> = lookupTable({
  configMap: 'configmaps (via projected volumes)',
  secret: 'secrets (via projected volumes)',
  serviceAccountToken: 'serviceaccounts (via projected volumes)',
  clusterTrustBundle: 'clustertrustbundles',
  podCertificate: 'podcertificates',
});

/**
 * Returns the first kind of object that a pod needs from the API, as upstream names it (api/pod HasAPIObjectReference).
 * A pod that a node creates must need none.
 */
export function apiReferenceOf(pod: Pod): string | undefined {
  if ((pod.spec.serviceAccountName ?? '') !== '') return 'serviceaccounts';
  if (secretNames(pod).size > 0) return 'secrets';
  if (configMapNames(pod).size > 0) return 'configmaps';
  if ((pod.spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  for (const volume of pod.spec.volumes ?? []) {
    const found = referenceOfVolume(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

function referenceOfVolume(volume: Volume): string | undefined {
  const [kind] = Object.entries(volume).find(([key, value]) => key !== 'name' && value !== undefined) ?? [];
  if (kind === undefined || allowedSources.has(kind)) return undefined;
  if (kind !== 'projected') return needing[kind] ?? `unknown volumes (${kind})`;
  for (const source of volume.projected?.sources ?? []) {
    const [name] = Object.entries(source).find(([, value]) => value !== undefined) ?? [];
    if (name !== undefined && name !== 'downwardAPI') return needingSources[name] ?? `unknown sources (${name})`;
  }
  return undefined;
}
