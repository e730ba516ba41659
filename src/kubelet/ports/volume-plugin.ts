import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Volume } from '../../api/core/volume.ts';
import type { MountedVolume } from '../model/pod-volumes.ts';
import type { ClusterObjectChange } from './cluster-objects.ts';

interface SpecBase {
  /** Upstream's spec.Name(), which names folders: the volume's name in the pod for an inline one, the PersistentVolume's for a claimed one. */
  readonly name: string;
  /** Name in pod.spec.volumes. */
  readonly podVolume: string;
  /** Inline: what the source says. Claimed: what the pod says beside the claim; a source of the PersistentVolume may say so too. */
  readonly readOnly: boolean;
  readonly mode: 'Filesystem' | 'Block';
  /** Of the PersistentVolume; none inline. */
  readonly mountOptions: readonly string[];
}

/** What a volume of a pod stands for, once claims are resolved. A value: when an object behind it changes there is a new one. */
export type VolumeSpec =
  | (SpecBase & { readonly kind: 'inline'; readonly volume: Volume })
  | (SpecBase & {
      readonly kind: 'persistent';
      readonly persistentVolume: PersistentVolume;
      readonly claim: PersistentVolumeClaim;
    });

/** A volume made ready on the node, once for all pods that use it: CSI's NodeStage, a logged-in iSCSI disk. */
export interface StagedVolume {
  /** What tells it from all others on this node, whoever uses it: upstream's unique volume name, `kubernetes.io/csi/<driver>^<handle>`. */
  readonly key: string;
  /** The shared mount, or the device. '' when there is none. */
  readonly path: string;
  /** What undoing it needs and cannot read from disk; the plugin's own. */
  readonly context?: Readonly<Record<string, string>>;
}

export interface VolumeRequest {
  readonly pod: Pod;
  readonly spec: VolumeSpec;
  /** Where this volume lives if it has a place of its own: `<root>/pods/<uid>/{volumes,volumeDevices}/<plugin>/<spec name>`, the latter for mode Block. Its parent exists. */
  readonly path: string;
  /** Whether something is mounted at `path`, when that is known (from the look around at start). */
  readonly mounted: boolean | undefined;
  /** It is in use already and only to be brought up to date. */
  readonly again: boolean;
  /** What `staging.stage` gave, for a plugin that stages. */
  readonly staged: StagedVolume | undefined;
  /** The group the pod wants to own its volumes. */
  readonly fsGroup: number | undefined;
}

/** What a plugin says of a volume that is ready; the manager adds its name. */
export interface VolumeReady extends Omit<MountedVolume, 'name'> {
  /**
   * `apply`: a file system that the pod's fsGroup must own; the manager sees to it, as fsGroupChangePolicy says. Absent: done by the plugin, or
   * not to be done (shared storage, read-only).
   */
  readonly ownership?: 'apply';
  /** Set up again after this time, for content that ages (tokens, CSI's requiresRepublish). A failure then leaves the volume usable. */
  readonly againInMs?: number;
  /** Its objects are immutable: it follows them no more. */
  readonly settled?: boolean;
}

/** A volume of a pod seen from its folder alone: the agent may have been restarted since it was made, its objects may be gone. */
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
  /** What the driver says of its health, where it does. */
  readonly abnormal?: { readonly abnormal: boolean; readonly message: string };
}

export type AttachedBy = 'byController' | 'byAnyone' | 'byNobody';

/**
 * The node-wide part of a plugin. The manager counts the pods that use a key: it calls `stage` before the first `setUp` (once in an agent's life,
 * so also for what an earlier agent staged), `unstage` after the last `tearDown`; never two calls for one key at a time, whoever asks.
 */
export interface VolumeStaging {
  /** What `stage` is going to make, which is also what is unstaged should it fail half-way. undefined when this volume has no node-wide part (an inline CSI volume). May throw the message users see. */
  plan(spec: VolumeSpec, pod: Pod): StagedVolume | undefined | Promise<StagedVolume | undefined>;
  /**
   * Who attaches it to the node before `stage` may be called: nobody without this (upstream: AttachableVolumePlugin). `byController`: only the control
   * plane can; `byAnyone`: there is nothing to do but to be named in the node's status.
   */
  attaches?(spec: VolumeSpec, pod: Pod): AttachedBy | Promise<AttachedBy>;
  /** The node's status says that it is attached: what else has to be (upstream: WaitForAttach). Its errors are shown as `MountVolume.WaitForAttach failed for volume "x" : `. */
  checkAttached?(spec: VolumeSpec, pod: Pod): Promise<void>;
  /** Repeatable: after a restart of the agent it is called again for what is there. Its errors are shown as `MountVolume.MountDevice failed for volume "x" : `. */
  stage(request: {
    pod: Pod;
    spec: VolumeSpec;
    planned: StagedVolume;
    fsGroup: number | undefined;
  }): Promise<StagedVolume>;
  /** Also of what was staged in part, or not at all: what is gone is success. */
  unstage(staged: StagedVolume): Promise<void>;
  /** What the folder of one pod's volume tells of the staged volume it uses; undefined when it tells nothing. Called before its `tearDown`. */
  identify(volume: VolumeOnDisk): Promise<StagedVolume | undefined>;
  /** All that is staged, found on disk at start. What no pod turns out to use is unstaged. */
  findStaged(): Promise<readonly StagedVolume[]>;
}

/**
 * One kind of volume; everything about it is one file. The life of a volume of a pod:
 *
 *   claim → PersistentVolume (manager) → supports? → [staging.stage] → setUp ⟲ refreshed by objectsOf/followsPod/againInMs → tearDown → [staging.unstage]
 *
 * 1. `setUp` is repeatable: it makes what is missing and leaves alone what is there, so that it also serves a restarted agent and refreshes. There
 *    is no other reconstruction of what pods still want: it is asked for again. What pods no longer want is known from its folder (`VolumeOnDisk`).
 * 2. Per volume one call at a time, by the manager; different volumes and pods at once. A call that hangs holds up its own volume only, but
 *    must be cut off by a deadline (a killable child, a gRPC deadline): tearing down waits for it.
 * 3. What is thrown is shown to users after `MountVolume.SetUp failed for volume "x" : ` (`MapVolume.SetUpDevice` for mode Block) as event
 *    FailedMount (FailedMapVolume) and in `kubelet explain`; the manager tries again after 0.5 s, doubling to 2 min 2 s, and at once when one of
 *    `objectsOf` changes. Never a secret's content in it.
 */
export interface VolumePlugin {
  /** As in upstream: `kubernetes.io/csi`. Its folders are called `kubernetes.io~csi`. */
  readonly name: string;
  /** false: it has no folder of its own below the pod's (hostPath, image volumes). */
  readonly ownFolder?: boolean;
  /** false: a PersistentVolume of this kind may have no mountOptions. */
  readonly mountOptions?: boolean;
  supports(spec: VolumeSpec): boolean;
  /** The objects whose change changes the volume; none without this. The claim and its PersistentVolume are followed anyway. */
  objectsOf?(spec: VolumeSpec, pod: Pod): readonly ClusterObjectChange[];
  /** Whether the content also depends on the pod's own metadata; without this it does not. */
  followsPod?(spec: VolumeSpec): boolean;
  setUp(request: VolumeRequest): Promise<VolumeReady>;
  /** Undoes `setUp`, half-done ones included; gone is success. Afterwards the manager unmounts and removes what is left at `path`, which is all that happens without this. */
  tearDown?(volume: VolumeOnDisk): Promise<void>;
  readonly staging?: VolumeStaging;
  /** undefined where statfs of its path is the answer. */
  usage?(volume: VolumeOnDisk): Promise<VolumeUsage | undefined>;
  /** Whether it serves volumes of mode Block, as `VolumeReady.device`. */
  readonly block?: boolean;
}

/** `kubernetes.io/csi` → `kubernetes.io~csi`. */
export function pluginFolder(name: string): string {
  return name.replaceAll('/', '~');
}
