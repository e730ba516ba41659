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
   * Upstream's spec.Name(), which names folders: the volume's name in the pod for an inline volume, and the
   * PersistentVolume's for a claimed one.
   */
  readonly name: string;
  /** The name in pod.spec.volumes. */
  readonly podVolume: string;
  /**
   * For an inline volume it comes from the source. For a claimed one it comes from the pod's reference to the claim, or
   * from the source of the PersistentVolume.
   */
  readonly readOnly: boolean;
  readonly mode: 'Filesystem' | 'Block';
  /** The options of the PersistentVolume; none for inline volumes. */
  readonly mountOptions: readonly string[];
}

/**
 * A volume of a pod with its claim resolved. It is immutable: when an object behind it changes, a new one is created.
 */
export type VolumeSpec =
  | (SpecBase & { readonly kind: 'inline'; readonly volume: Volume })
  | (SpecBase & {
      readonly kind: 'persistent';
      readonly persistentVolume: PersistentVolume;
      /** The claim; undefined for an inline volume of a kind that was migrated to a CSI driver. */
      readonly claim: PersistentVolumeClaim | undefined;
    });

/**
 * A volume that is prepared on the node once for all pods that use it, such as CSI's NodeStage or a logged-in iSCSI
 * disk.
 */
export interface StagedVolume {
  /**
   * Identifies the volume on this node for all pods: upstream's unique volume name,
   * `kubernetes.io/csi/<driver>^<handle>`.
   */
  readonly key: string;
  /** The shared mount, or the device; '' if there is none. */
  readonly path: string;
  /** What `unstage` needs and cannot read from disk. Only the plugin interprets it. */
  readonly context?: Readonly<Record<string, string>>;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /**
   * The volume's directory, if it has one: `<root>/pods/<uid>/{volumes,volumeDevices}/<plugin>/<spec name>`, the latter
   * for mode Block. Its parent exists.
   */
  readonly path: string;
  /** Whether something is mounted at `path`; undefined if unknown. The scan at the start determines it. */
  readonly mounted: boolean | undefined;
  /** Whether the volume is already in use and only needs a refresh. */
  readonly again: boolean;
  /** The result of `staging.stage`, for a plugin that stages. */
  readonly staged: StagedVolume | undefined;
  /** The group that must own the pod's volumes. */
  readonly fsGroup: number | undefined;
}

/** A plugin's result for a ready volume. The manager adds its name. */
export interface VolumeReady extends Omit<MountedVolume, 'name'> {
  /**
   * `apply` means that the pod's fsGroup must own the file system, and the manager applies it by fsGroupChangePolicy.
   * It is absent if the plugin does it, or if it does not apply (shared storage, read-only).
   */
  readonly ownership?: 'apply';
  /**
   * The volume is set up again after this time, for content that expires (tokens, CSI's requiresRepublish). If that
   * fails, the volume stays usable.
   */
  readonly againInMs?: number;
  /** Whether its objects are immutable, so that changes are no longer followed. */
  readonly settled?: boolean;
}

/**
 * A volume of a pod that is known only from its folder. The agent may have been restarted since it was created, and its
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
  /** The health, if the driver reports it. */
  readonly abnormal?: { readonly abnormal: boolean; readonly message: string };
}

export type AttachedBy = 'byController' | 'byAnyone' | 'byNobody';

/**
 * The node-wide part of a plugin. The manager counts the pods that use a key. It calls `stage` before the first `setUp`
 * (once per run of the agent, so also for volumes that an earlier agent staged), and `unstage` after the last
 * `tearDown`. There is one call at a time per key.
 */
export interface VolumeStaging {
  /**
   * Returns what `stage` will create, which is also what is unstaged if it fails half-way; undefined if the volume has
   * no node-wide part (an inline CSI volume). May throw a message for users.
   */
  plan(spec: VolumeSpec, pod: Pod): StagedVolume | undefined | Promise<StagedVolume | undefined>;
  /**
   * Returns who attaches the volume to the node before `stage` is called; absent if it need not be attached (upstream:
   * AttachableVolumePlugin). `byController`: only the control plane can. `byAnyone`: it must only be listed in the
   * node's status.
   */
  attaches?(spec: VolumeSpec, pod: Pod): AttachedBy | Promise<AttachedBy>;
  /**
   * Completes the attachment when the node's status lists the volume as attached (upstream: WaitForAttach). Its errors
   * are shown as `MountVolume.WaitForAttach failed for volume "x" : `.
   */
  checkAttached?(spec: VolumeSpec, pod: Pod): Promise<void>;
  /**
   * Stages the volume. It can be repeated, and is called again after a restart of the agent for an existing volume. Its
   * errors are shown as `MountVolume.MountDevice failed for volume "x" : `.
   */
  stage(request: {
    pod: Pod;
    spec: VolumeSpec;
    planned: StagedVolume;
    fsGroup: number | undefined;
  }): Promise<StagedVolume>;
  /** Unstages a volume, even if it was staged only partly or not at all. A missing volume is not an error. */
  unstage(staged: StagedVolume): Promise<void>;
  /**
   * Returns which staged volume the folder of one pod's volume uses; undefined if unknown. It is called before its
   * `tearDown`.
   */
  identify(volume: VolumeOnDisk): Promise<StagedVolume | undefined>;
  /** Returns all staged volumes that are on disk at the start. Those that no pod uses are unstaged. */
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
  /** The name as in upstream, such as `kubernetes.io/csi`. Its folders are named `kubernetes.io~csi`. */
  readonly name: string;
  /** Whether it has its own folder below the pod's; false for hostPath and image volumes. */
  readonly ownFolder?: boolean;
  /** Whether a PersistentVolume of this kind may have mountOptions; default true. */
  readonly mountOptions?: boolean;
  supports(spec: VolumeSpec): boolean;
  /**
   * Returns the objects whose changes affect the volume; absent if there are none. The claim and its PersistentVolume
   * are always followed.
   */
  objectsOf?(spec: VolumeSpec, pod: Pod): readonly VolumeChange[];
  /** Whether the content also depends on the pod's own metadata; default false. */
  followsPod?(spec: VolumeSpec): boolean;
  setUp(request: VolumeRequest): Promise<VolumeReady>;
  /**
   * Undoes `setUp`, even an incomplete one. A missing volume is not an error. Afterwards, or if this method is absent,
   * the manager unmounts and removes what is at `path`.
   */
  tearDown?(volume: VolumeOnDisk): Promise<void>;
  readonly staging?: VolumeStaging;
  /** Returns the usage; absent if statfs of the path is used. */
  usage?(volume: VolumeOnDisk): Promise<VolumeUsage | undefined>;
  /** Whether it supports volumes of mode Block, as `VolumeReady.device`. */
  readonly block?: boolean;
}

/** Converts `kubernetes.io/csi` to `kubernetes.io~csi`. */
export function pluginFolder(name: string): string {
  return name.replaceAll('/', '~');
}
