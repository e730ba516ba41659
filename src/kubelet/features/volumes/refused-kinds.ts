import type { VolumeSpec } from '../../ports/volume-plugin.ts';

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

/** Returns why no plugin supports a kind that the API still has, or undefined for an unknown kind. */
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
  return removed.has(kind) ? `no volume plugin matched: ${kind} was removed from Kubernetes` : undefined;
}
