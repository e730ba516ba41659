import type { Pod } from '../../../api/core/pod.ts';
import type { Volume } from '../../../api/core/volume.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { reject, skip } from '../framework/plugin.ts';
import type { Plugin, PodCheck, PreFilterResult } from '../framework/plugin.ts';
import { unresolvable, unschedulable } from '../framework/rejection.ts';
import type { Rejection } from '../framework/rejection.ts';
import type { Snapshot } from '../framework/snapshot.ts';
import { claimNotFound } from './claims.ts';

const NAME = 'VolumeRestrictions';
const diskConflict = unschedulable(NAME, 'node(s) had no available disk');
const inUse = unschedulable(
  NAME,
  'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
);

/** Rejects nodes on which a disk conflicts with another pod's, and enforces ReadWriteOncePod. */
export const volumeRestrictions: Plugin = {
  name: NAME,
  hints: {
    Pod: [
      {
        actions: ['Delete'],
        mayHelp: (pod, { before }) =>
          before !== undefined &&
          before.metadata.namespace === pod.metadata.namespace &&
          (sharesClaim(pod, before) || sharesDisk(pod, before)),
      },
    ],
    Node: [{ actions: ['Add'] }],
    PersistentVolumeClaim: [
      {
        actions: ['Add'],
        mayHelp: (pod, { after }) =>
          after?.metadata.namespace === pod.metadata.namespace && claimsOf(pod).includes(after.metadata.name),
      },
    ],
  },
  preFilter,
};

const claimsOf = (pod: Pod): string[] =>
  (pod.spec.volumes ?? []).flatMap(({ persistentVolumeClaim }) =>
    persistentVolumeClaim === undefined ? [] : [persistentVolumeClaim.claimName],
  );

function preFilter(pod: PodInfo, snapshot: Snapshot): PreFilterResult {
  const volumes = pod.pod.spec.volumes ?? [];
  if (volumes.length === 0) return skip;
  const disks = volumes.filter(
    (volume) =>
      volume.gcePersistentDisk !== undefined ||
      volume.awsElasticBlockStore !== undefined ||
      volume.rbd !== undefined ||
      volume.iscsi !== undefined,
  );
  const exclusive = new Set<string>();
  for (const claimName of claimsOf(pod.pod)) {
    const claim = snapshot.objects.claim(pod.namespace, claimName);
    if (claim === undefined) return reject(unresolvable(NAME, claimNotFound(claimName)));
    if ((claim.spec.accessModes ?? []).includes('ReadWriteOncePod')) exclusive.add(`${pod.namespace}/${claimName}`);
  }
  const users = [...exclusive].filter((key) => snapshot.isClaimUsed(key)).length;
  return disks.length === 0 && users === 0
    ? skip
    : { kind: 'check', check: new RestrictionsCheck(disks, exclusive, users) };
}

class RestrictionsCheck implements PodCheck {
  readonly #disks: readonly Volume[];
  readonly #exclusive: ReadonlySet<string>;
  /** The number of other pods in the cluster that use an exclusive claim of the pod. */
  #users: number;

  constructor(disks: readonly Volume[], exclusive: ReadonlySet<string>, users: number) {
    this.#disks = disks;
    this.#exclusive = exclusive;
    this.#users = users;
  }

  filter(node: NodeInfo): Rejection | undefined {
    if (this.#disks.length > 0) {
      for (const other of node.pods.values())
        if (this.#disks.some((disk) => (other.pod.spec.volumes ?? []).some((volume) => diskConflicts(disk, volume))))
          return diskConflict;
    }
    return this.#users > 0 ? inUse : undefined;
  }

  readonly others = {
    added: (other: PodInfo): void => void (this.#users += this.#uses(other)),
    removed: (other: PodInfo): void => void (this.#users -= this.#uses(other)),
    clone: (): PodCheck => new RestrictionsCheck(this.#disks, this.#exclusive, this.#users),
  };

  #uses(other: PodInfo): number {
    return other.claims.filter((key) => this.#exclusive.has(key)).length;
  }
}

const sharesClaim = (pod: Pod, other: Pod): boolean => claimsOf(other).some((claim) => claimsOf(pod).includes(claim));
const sharesDisk = (pod: Pod, other: Pod): boolean =>
  (pod.spec.volumes ?? []).some((disk) => (other.spec.volumes ?? []).some((volume) => diskConflicts(disk, volume)));

/** Whether two volumes conflict. Two readers may share most kinds of disk, but not an EBS volume. */
function diskConflicts(left: Volume, right: Volume): boolean {
  const bothRead = (one: { readonly readOnly?: boolean }, other: { readonly readOnly?: boolean }): boolean =>
    one.readOnly === true && other.readOnly === true;
  const { gcePersistentDisk: gce, awsElasticBlockStore: ebs, iscsi, rbd } = left;
  if (
    gce !== undefined &&
    right.gcePersistentDisk !== undefined &&
    gce.pdName === right.gcePersistentDisk.pdName &&
    !bothRead(gce, right.gcePersistentDisk)
  )
    return true;
  if (
    ebs !== undefined &&
    right.awsElasticBlockStore !== undefined &&
    ebs.volumeID === right.awsElasticBlockStore.volumeID
  )
    return true;
  if (
    iscsi !== undefined &&
    right.iscsi !== undefined &&
    iscsi.iqn === right.iscsi.iqn &&
    !bothRead(iscsi, right.iscsi)
  )
    return true;
  if (rbd === undefined || right.rbd === undefined || bothRead(rbd, right.rbd)) return false;
  const other = right.rbd;
  return (
    rbd.pool === other.pool &&
    rbd.image === other.image &&
    (rbd.monitors ?? []).some((monitor) => (other.monitors ?? []).includes(monitor))
  );
}
