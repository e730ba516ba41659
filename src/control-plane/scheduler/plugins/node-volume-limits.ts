import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { csiFormOf, inlineCsiForm } from '../../../api/csi-migration.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { checkWith, skip } from '../framework/plugin.ts';
import type { Plugin } from '../framework/plugin.ts';
import { unresolvable, unschedulable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { ClusterObjects } from '../framework/snapshot.ts';
import { claimNameOf, classOfClaim, usesClaim } from './claims.ts';
import { holdsNode } from './node-resources-fit.ts';

const NAME = 'NodeVolumeLimits';
const exceeded = unschedulable(NAME, 'node(s) exceed max volume count');

const hasClaims = (pod: Pod): boolean =>
  (pod.spec.volumes ?? []).some(
    (volume) =>
      volume.persistentVolumeClaim !== undefined ||
      volume.ephemeral !== undefined ||
      inlineCsiForm(volume, pod.metadata.namespace) !== undefined,
  );

/** Limits the CSI volumes on a node to the number in its CSINode. */
export const nodeVolumeLimits: Plugin = {
  name: NAME,
  hints: {
    CSINode: [
      { actions: ['Add'] },
      {
        actions: ['Update'],
        mayHelp: (_pod, { before, after }) =>
          (after?.spec.drivers ?? []).some(
            ({ name: driver, allocatable }) =>
              (allocatable?.count ?? 0) >
              (before?.spec.drivers.find((one) => one.name === driver)?.allocatable?.count ?? 0),
          ),
      },
    ],
    Pod: [
      {
        actions: ['Delete'],
        mayHelp: (_pod, { before }) => before !== undefined && holdsNode(before) && hasClaims(before),
      },
    ],
    PersistentVolumeClaim: [{ actions: ['Add'], mayHelp: (pod, { after }) => usesClaim(pod, after) }],
    VolumeAttachment: [{ actions: ['Delete'], mayHelp: (pod) => hasClaims(pod) }],
  },
  preFilter: (pod, { objects }) => (hasClaims(pod.pod) ? checkWith((node) => check(pod, node, objects)) : skip),
};

/** The driver of each volume. A volume that two pods use counts once. */
type Volumes = Map<string, string>;

function check(pod: PodInfo, node: NodeInfo, objects: ClusterObjects): Rejection | undefined {
  const wanted: Volumes = new Map();
  const missing = collect(pod.pod, objects, wanted);
  if (missing !== undefined)
    return unresolvable(
      NAME,
      `looking up PVC ${pod.namespace}/${missing}: persistentvolumeclaim "${missing}" not found`,
    );
  const limits = (objects.csiNode(node.name)?.spec.drivers ?? []).filter(
    ({ allocatable }) => allocatable?.count !== undefined,
  );
  if (wanted.size === 0 || limits.length === 0) return undefined;
  const attached: Volumes = new Map();
  for (const other of node.pods.values()) if (hasClaims(other.pod)) collect(other.pod, objects, attached);
  for (const volume of attached.keys()) wanted.delete(volume);
  collectAttachments(node.name, objects, attached);
  const count = (volumes: Volumes, driver: string): number =>
    [...volumes.values()].filter((one) => one === driver).length;
  for (const { name: driver, allocatable } of limits) {
    const more = count(wanted, driver);
    if (more > 0 && count(attached, driver) + more > (allocatable?.count ?? 0)) return exceeded;
  }
  return undefined;
}

/** Adds the CSI volumes of a pod. Returns the name of a missing claim, if there is one. */
function collect(pod: Pod, objects: ClusterObjects, into: Volumes): string | undefined {
  let missing: string | undefined;
  for (const volume of pod.spec.volumes ?? []) {
    const named = claimNameOf(pod, volume);
    if (named === undefined) {
      addVolume(inlineCsiForm(volume, pod.metadata.namespace), into);
      continue;
    }
    const claim = objects.claim(pod.metadata.namespace, named.name);
    if (claim === undefined) {
      missing ??= named.name;
      continue;
    }
    const source = objects.volume(claim.spec.volumeName ?? '');
    if (source !== undefined) addVolume(csiFormOf(source), into);
    else {
      // The volume does not exist yet, so the storage class tells the driver.
      const provisioner = objects.storageClass(classOfClaim(claim))?.provisioner;
      if (provisioner !== undefined && provisioner !== '')
        into.set(`${provisioner}/claim ${pod.metadata.namespace}/${named.name}`, provisioner);
    }
  }
  return missing;
}

function addVolume(volume: PersistentVolume | undefined, into: Volumes): void {
  const csi = volume?.spec.csi;
  if (csi !== undefined) into.set(`${csi.driver}/${csi.volumeHandle}`, csi.driver);
}

function collectAttachments(nodeName: string, objects: ClusterObjects, into: Volumes): void {
  for (const { spec } of objects.volumeAttachments()) {
    if (spec.nodeName !== nodeName || spec.attacher === '') continue;
    const claimed = objects.volume(spec.source.persistentVolumeName ?? '');
    const csi = (spec.source.inlineVolumeSpec ?? (claimed === undefined ? undefined : csiFormOf(claimed).spec))?.csi;
    if (csi !== undefined) into.set(`${spec.attacher}/${csi.volumeHandle}`, spec.attacher);
  }
}
