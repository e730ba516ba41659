import { nodeLabels } from '../../../api/annotations.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { checkWith, reject, skip } from '../framework/plugin.ts';
import type { Plugin, PreFilterResult } from '../framework/plugin.ts';
import { unresolvable } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { claimNotFound, classOfClaim, usesClaim } from './claims.ts';

const NAME = 'VolumeZone';
const rejection = unresolvable(NAME, 'node(s) had no available volume zone');

/** The current label for each old one. */
const labels = new Map<string, string>([
  [nodeLabels.betaZone, nodeLabels.zone],
  [nodeLabels.betaRegion, nodeLabels.region],
  [nodeLabels.zone, nodeLabels.zone],
  [nodeLabels.region, nodeLabels.region],
]);

interface Place {
  readonly key: string;
  readonly values: readonly string[];
}

/** Rejects nodes outside the zone of the pod's volumes. In-tree cloud disks carry their zone in labels. */
export const volumeZone: Plugin = {
  name: NAME,
  hints: {
    StorageClass: [
      { actions: ['Add'], mayHelp: (_pod, { after }) => after?.volumeBindingMode === 'WaitForFirstConsumer' },
    ],
    Node: [{ actions: ['Add', 'UpdateNodeLabel'] }],
    PersistentVolumeClaim: [{ actions: ['Add', 'Update'], mayHelp: (pod, { after }) => usesClaim(pod, after) }],
    PersistentVolume: [
      {
        actions: ['Add', 'Update'],
        mayHelp: (_pod, { before, after }) =>
          before === undefined ||
          after === undefined ||
          JSON.stringify(placesOf(before)) !== JSON.stringify(placesOf(after)),
      },
    ],
  },
  preFilter,
};

function placesOf({ metadata }: PersistentVolume): Place[] {
  return [...labels.keys()].flatMap((key): Place[] => {
    const value = metadata.labels?.[key];
    // The label of a regional disk contains several zones.
    return value === undefined ? [] : [{ key, values: value.split('__').map((zone) => zone.trim()) }];
  });
}

function preFilter(pod: PodInfo, { objects }: Snapshot): PreFilterResult {
  const places: Place[] = [];
  for (const { persistentVolumeClaim } of pod.pod.spec.volumes ?? []) {
    if (persistentVolumeClaim === undefined) continue;
    const claim = objects.claim(pod.namespace, persistentVolumeClaim.claimName);
    if (claim === undefined) return reject(unresolvable(NAME, claimNotFound(persistentVolumeClaim.claimName)));
    const volumeName = claim.spec.volumeName ?? '';
    if (volumeName !== '') {
      const volume = objects.volume(volumeName);
      if (volume === undefined) return reject(unresolvable(NAME, `persistentvolume "${volumeName}" not found`));
      places.push(...placesOf(volume));
      continue;
    }
    const className = classOfClaim(claim);
    if (className === '')
      return reject(unresolvable(NAME, 'PersistentVolumeClaim had no pv name and storageClass name'));
    const storageClass = objects.storageClass(className);
    if (storageClass === undefined)
      return reject(unresolvable(NAME, `storageclass.storage.k8s.io "${className}" not found`));
    if (storageClass.volumeBindingMode === undefined)
      return reject(unresolvable(NAME, `VolumeBindingMode not set for StorageClass "${className}"`));
    if (storageClass.volumeBindingMode !== 'WaitForFirstConsumer')
      return reject(unresolvable(NAME, 'PersistentVolume had no name'));
  }
  if (places.length === 0) return skip;
  return checkWith((node) => {
    // A node without zone labels matches every zone.
    if (![...labels.keys()].some((key) => node.labels[key] !== undefined)) return undefined;
    const fits = ({ key, values }: Place): boolean =>
      values.includes(node.labels[key] ?? node.labels[labels.get(key) ?? key] ?? '');
    return places.every(fits) ? undefined : rejection;
  });
}
