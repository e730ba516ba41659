import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Volume } from '../../api/core/volume.ts';
import type { MountedVolume } from '../model/pod-volumes.ts';
import type { ClusterObjectChange } from './cluster-objects.ts';
import type { CredentialChange } from './pod-credentials.ts';

/** A change that volumes may follow. */
export type VolumeChange = ClusterObjectChange | CredentialChange;

interface SpecBase {
  /**
   * Upstream's spec.Name(), which names folders: the volume's name in the pod for an inline one, the PersistentVolume's
   * for a claimed one.
   */
  readonly name: string;
  /** Name in pod.spec.volumes. */
  readonly podVolume: string;
  /**
   * Inline: from the source. Claimed: from the pod's reference to the claim; a source of the PersistentVolume may also
   * set it.
   */
  readonly readOnly: boolean;
  readonly mode: 'Filesystem' | 'Block';
  /** Of the PersistentVolume; none for inline volumes. */
  readonly mountOptions: readonly string[];
}

/** A volume of a pod with its claim resolved. Immutable: when an object behind it changes, a new one is created. */
export type VolumeSpec =
  | (SpecBase & { readonly kind: 'inline'; readonly volume: Volume })
  | (SpecBase & {
      readonly kind: 'persistent';
      readonly persistentVolume: PersistentVolume;
      /** undefined for an inline volume of a kind that was moved to a CSI driver. */
      readonly claim: PersistentVolumeClaim | undefined;
    });

/** A volume prepared on the node, once for all pods that use it: CSI's NodeStage, a logged-in iSCSI disk. */
export interface StagedVolume {
  /**
   * Identifies it on this node, whichever pod uses it: upstream's unique volume name,
   * `kubernetes.io/csi/<driver>^<handle>`.
   */
  readonly key: string;
  /** The shared mount, or the device. '' when there is none. */
  readonly path: string;
  /** What undoing it needs and cannot read from disk; private to the plugin. */
  readonly context?: Readonly<Record<string, string>>;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /**
   * The volume's directory if it has one: `<root>/pods/<uid>/{volumes,volumeDevices}/<plugin>/<spec name>`, the latter
   * for mode Block. Its parent exists.
   */
  readonly path: string;
  /** Whether something is mounted at `path`, when that is known (from the scan at start). */
  readonly mounted: boolean | undefined;
  /** It is in use already and only needs a refresh. */
  readonly again: boolean;
  /** The result of `staging.stage`, for a plugin that stages. */
  readonly staged: StagedVolume | undefined;
  /** The group the pod wants to own its volumes. */
  readonly fsGroup: number | undefined;
}

/** A plugin's result for a volume that is ready; the manager adds its name. */
export interface VolumeReady extends Omit<MountedVolume, 'name'> {
  /**
   * `apply`: a file system that the pod's fsGroup must own; the manager applies it, following fsGroupChangePolicy.
   * Absent: done by the plugin, or not applicable (shared storage, read-only).
   */
  readonly ownership?: 'apply';
  /**
   * Set up again after this time, for content that expires (tokens, CSI's requiresRepublish). A failure then leaves the
   * volume usable.
   */
  readonly againInMs?: number;
  /** Its objects are immutable: changes are not followed any more. */
  readonly settled?: boolean;
}

/**
 * A volume of a pod, known only from its folder: the agent may have been restarted since it was created, and its
 * objects may have been deleted.
 */
export interface VolumeOnDisk {
  readonly podUid: string;
  readonly specName: string;
  readonly mode: 'Filesystem' | 'Block';
  readonly path: string;
}

export interface VolumeUsage {
  readonly capacityBytes?: number;
  readonly availableBytes?: number;
  readonly usedBytes?: number;
  readonly inodes?: number;
  readonly inodesFree?: number;
  readonly inodesUsed?: number;
  /** The health the driver reports, if it does. */
  readonly abnormal?: { readonly abnormal: boolean; readonly message: string };
}

export type AttachedBy = 'byController' | 'byAnyone' | 'byNobody';

/**
 * The node-wide part of a plugin. The manager counts the pods that use a key: it calls `stage` before the first `setUp`
 * (once in an agent's life, so also for what an earlier agent staged), and `unstage` after the last `tearDown`; never
 * two calls for one key at a time, whichever pod they are for.
 */
export interface VolumeStaging {
  /**
   * What `stage` will create, which is also what is unstaged should it fail half-way. undefined when this volume has no
   * node-wide part (an inline CSI volume). May throw the message users see.
   */
  plan(spec: VolumeSpec, pod: Pod): StagedVolume | undefined | Promise<StagedVolume | undefined>;
  /**
   * Who attaches it to the node before `stage` may be called; absent: no attachment is needed (upstream:
   * AttachableVolumePlugin). `byController`: only the control plane can; `byAnyone`: nothing to do except to list it in
   * the node's status.
   */
  attaches?(spec: VolumeSpec, pod: Pod): AttachedBy | Promise<AttachedBy>;
  /**
   * The node's status says that it is attached: the remaining steps of attaching (upstream: WaitForAttach). Its errors
   * are shown as `MountVolume.WaitForAttach failed for volume "x" : `.
   */
  checkAttached?(spec: VolumeSpec, pod: Pod): Promise<void>;
  /**
   * Repeatable: called again after a restart of the agent for an existing volume. Its errors are shown as
   * `MountVolume.MountDevice failed for volume "x" : `.
   */
  stage(request: {
    pod: Pod;
    spec: VolumeSpec;
    planned: StagedVolume;
    fsGroup: number | undefined;
  }): Promise<StagedVolume>;
  /** Also for what was staged in part, or not at all: a missing volume is success. */
  unstage(staged: StagedVolume): Promise<void>;
  /**
   * Which staged volume the folder of one pod's volume uses; undefined when that is unknown. Called before its
   * `tearDown`.
   */
  identify(volume: VolumeOnDisk): Promise<StagedVolume | undefined>;
  /** All staged volumes found on disk at start. Those no pod turns out to use are unstaged. */
  findStaged(): Promise<readonly StagedVolume[]>;
}

/**
 * One kind of volume; everything about it is in one file. The life of a volume of a pod:
 *
 * claim → PersistentVolume (manager) → supports? → [staging.stage] → setUp ⟲ refreshed by
 * objectsOf/followsPod/againInMs → tearDown → [staging.unstage]
 *
 * 1. `setUp` is repeatable: it creates what is missing and keeps what exists, so that it also serves a restarted agent
 *    and refreshes. There is no other reconstruction of volumes that pods still want: it is called again. Volumes that
 *    no pod wants any more are known from their folders (`VolumeOnDisk`).
 * 2. Per volume one call at a time, by the manager; different volumes and pods concurrently. A call that hangs blocks
 *    its own volume only, but must be cut off by a deadline (a killable child, a gRPC deadline): tearing down waits for
 *    it.
 * 3. Errors are shown to users after `MountVolume.SetUp failed for volume "x" : ` (`MapVolume.SetUpDevice` for mode
 *    Block) as event FailedMount (FailedMapVolume) and in `kubelet explain`; the manager retries after 0.5 s, doubling
 *    to 2 min 2 s, and at once when one of `objectsOf` changes. They never contain a secret's content.
 */
export interface VolumePlugin {
  /** As in upstream: `kubernetes.io/csi`. Its folders are named `kubernetes.io~csi`. */
  readonly name: string;
  /** false: it has no folder of its own below the pod's (hostPath, image volumes). */
  readonly ownFolder?: boolean;
  /** false: a PersistentVolume of this kind may have no mountOptions. */
  readonly mountOptions?: boolean;
  supports(spec: VolumeSpec): boolean;
  /**
   * The objects whose change changes the volume; absent: none. The claim and its PersistentVolume are followed anyway.
   */
  objectsOf?(spec: VolumeSpec, pod: Pod): readonly VolumeChange[];
  /** Whether the content also depends on the pod's own metadata; absent: it does not. */
  followsPod?(spec: VolumeSpec): boolean;
  setUp(request: VolumeRequest): Promise<VolumeReady>;
  /**
   * Undoes `setUp`, including a half-done one; a missing volume is success. Afterwards the manager unmounts and removes
   * what is left at `path`; without this method, that is all.
   */
  tearDown?(volume: VolumeOnDisk): Promise<void>;
  readonly staging?: VolumeStaging;
  /** undefined where statfs of its path is used. */
  usage?(volume: VolumeOnDisk): Promise<VolumeUsage | undefined>;
  /** Whether it supports volumes of mode Block, as `VolumeReady.device`. */
  readonly block?: boolean;
}

/** `kubernetes.io/csi` → `kubernetes.io~csi`. */
export function pluginFolder(name: string): string {
  return name.replaceAll('/', '~');
}
