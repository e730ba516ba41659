import { attachmentName, isAttachmentName } from '../../../api/attachable-volume.ts';
import type { PersistentVolumeSpec } from '../../../api/core/persistent-volume.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { hasOutOfServiceTaint } from '../../controller-runtime/out-of-service.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';

/** The source of a VolumeAttachment. */
export type AttachmentSource =
  | { readonly persistentVolume: string }
  /** An inline volume of a kind that was migrated to a CSI driver. */
  | { readonly inlineSpec: PersistentVolumeSpec };

/** A volume that pods of the node need. */
export interface WantedVolume {
  readonly key: string;
  /** The name for messages: of the PersistentVolume, or of the volume in the pod. */
  readonly name: string;
  readonly csi?: { readonly driver: string; readonly handle: string; readonly source: AttachmentSource };
  /** Whether it may be attached to several nodes. */
  readonly isShared: boolean;
  readonly pod: Pod;
}

export interface AttachFacts {
  readonly nodeName: string;
  /** The node. It is undefined if the node was deleted. */
  readonly node: Pick<Node, 'spec' | 'status'> | undefined;
  readonly wanted: readonly WantedVolume[];
  /** The attachments of this node. */
  readonly attachments: readonly VolumeAttachment[];
  /** The volumes that are attached or being attached to other nodes. */
  readonly elsewhere: ReadonlySet<string>;
  /** When each volume was first unneeded, in wall milliseconds. */
  readonly unwantedSinceMs: ReadonlyMap<string, number>;
  readonly nowMs: number;
}

export interface AttachPlan {
  /** The volumes to list in the node's status, in order. Undefined means unchanged. */
  readonly attached: readonly string[] | undefined;
  readonly create: readonly VolumeAttachment[];
  /** The VolumeAttachments to delete, after the node's status has been written. */
  readonly remove: readonly string[];
  readonly said: readonly {
    readonly pod: Pod;
    readonly type: 'Normal' | 'Warning';
    readonly reason: string;
    readonly message: string;
  }[];
  /** The volumes that are no longer needed but still attached. */
  readonly leaving: readonly string[];
  /** When a volume is detached by force from an unresponsive node. */
  readonly recheckMs: number | undefined;
}

/** The time after which a volume is detached by force (upstream: maxWaitForUnmountDuration). */
const FORCE_AFTER_MS = 6 * 60_000;

/**
 * Plans how a node gets the volumes of its pods (upstream: attach-detach controller, reconciler).
 * 1. The node's status lists a volume only while it is attached; it is removed from there before it is detached.
 * 2. A volume is not detached while the node uses it, unless the node has been unresponsive for six minutes, is out of
 *    service or was deleted.
 * 3. A volume for a single node waits until the other node has released it.
 */
export function planAttachments(facts: AttachFacts): AttachPlan {
  const { node, wanted, attachments, elsewhere, nodeName } = facts;
  const before = (node?.status?.volumesAttached ?? []).map(({ name }) => name);
  const inUse = new Set(node?.status?.volumesInUse ?? []);
  const byName = new Map(attachments.map((attachment) => [attachment.metadata.name, attachment]));
  const wantedKeys = new Set(wanted.map(({ key }) => key));
  const said: AttachPlan['said'][number][] = [];
  const create: VolumeAttachment[] = [];
  const attached: string[] = [];
  for (const volume of wanted) {
    const done = before.includes(volume.key);
    const attachment =
      volume.csi === undefined ? undefined : byName.get(attachmentName(volume.csi.handle, volume.csi.driver, nodeName));
    if (attachment === undefined && !done && !volume.isShared && elsewhere.has(volume.key)) {
      said.push({
        pod: volume.pod,
        type: 'Warning',
        reason: 'FailedAttachVolume',
        message: `Multi-Attach error for volume "${volume.name}" Volume is already exclusively attached to one node and can't be attached to another`,
      });
      continue;
    }
    if (volume.csi !== undefined && attachment === undefined) create.push(attachmentOf(volume, volume.csi, nodeName));
    if (!isAttached(volume, attachment)) {
      const error = attachment?.status?.attachError?.message;
      if (error !== undefined)
        said.push({
          pod: volume.pod,
          type: 'Warning',
          reason: 'FailedAttachVolume',
          message: `AttachVolume.Attach failed for volume "${volume.name}" : ${error}`,
        });
      continue;
    }
    attached.push(volume.key);
    if (!done)
      said.push({
        pod: volume.pod,
        type: 'Normal',
        reason: 'SuccessfulAttachVolume',
        message: `AttachVolume.Attach succeeded for volume "${volume.name}" `,
      });
  }
  const { kept, remove, leaving, recheckMs } = planLeaving(facts, { before, inUse, wantedKeys });
  const next = [
    ...before.filter((key) => attached.includes(key) || kept.has(key)),
    ...attached.filter((key) => !before.includes(key)),
  ];
  const isSame = next.length === before.length && next.every((key, index) => key === before[index]);
  return { attached: node === undefined || isSame ? undefined : next, create, remove, said, leaving, recheckMs };
}

function isAttached({ csi }: WantedVolume, attachment: VolumeAttachment | undefined): boolean {
  if (csi === undefined) return true;
  return attachment?.status?.attached === true && attachment.metadata.deletionTimestamp === undefined;
}

function attachmentOf(
  { key: _ }: WantedVolume,
  { driver, handle, source }: NonNullable<WantedVolume['csi']>,
  nodeName: string,
): VolumeAttachment {
  return {
    metadata: { name: attachmentName(handle, driver, nodeName), namespace: '', uid: '' },
    spec: {
      attacher: driver,
      nodeName,
      source:
        'inlineSpec' in source
          ? { inlineVolumeSpec: source.inlineSpec }
          : { persistentVolumeName: source.persistentVolume },
    },
  };
}

/** Plans the detachment of volumes that no pod needs any more, once the node has released them. */
function planLeaving(
  facts: AttachFacts,
  {
    before,
    inUse,
    wantedKeys,
  }: { before: readonly string[]; inUse: ReadonlySet<string>; wantedKeys: ReadonlySet<string> },
) {
  const { node, wanted, attachments, nodeName, unwantedSinceMs, nowMs } = facts;
  const wantedNames = new Set(
    wanted.flatMap(({ csi }) => (csi === undefined ? [] : [attachmentName(csi.handle, csi.driver, nodeName)])),
  );
  const names = new Map(
    before.flatMap((key) => {
      const [, driver, handle] = /^kubernetes\.io\/csi\/([^^]*)\^(.*)$/.exec(key) ?? [];
      return driver === undefined || handle === undefined
        ? []
        : [[attachmentName(handle, driver, nodeName), key] as const];
    }),
  );
  const kept = new Set<string>();
  const leaving: string[] = [];
  const waits: number[] = [];
  const mayGo = (key: string, isInUse: boolean): boolean => {
    if (!isInUse || hasOutOfServiceTaint(node)) return true;
    leaving.push(key);
    // A responding node unmounts the volume itself, however long that takes.
    if (node !== undefined && isReady(node)) return false;
    const leftMs = (unwantedSinceMs.get(key) ?? nowMs) + FORCE_AFTER_MS - nowMs;
    if (leftMs > 0) waits.push(leftMs);
    return leftMs <= 0;
  };
  for (const key of before) if (!wantedKeys.has(key) && !mayGo(key, inUse.has(key))) kept.add(key);
  const remove = attachments
    .filter(
      ({ metadata }) =>
        isAttachmentName(metadata.name) && !wantedNames.has(metadata.name) && metadata.deletionTimestamp === undefined,
    )
    // A volume that is not in the status is unused; the volumes of a removed node are unknown.
    .filter(({ metadata: { name } }) => (node === undefined ? mayGo(name, true) : !kept.has(names.get(name) ?? '')))
    .map(({ metadata }) => metadata.name);
  return { kept, remove, leaving, recheckMs: waits.length === 0 ? undefined : Math.min(...waits) };
}

function isReady({ status }: Pick<Node, 'status'>): boolean {
  return status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') === true;
}
