export interface MountPoint {
  readonly path: string;
  readonly fsType: string;
  readonly source: string;
}

export interface MountOrder {
  readonly fsType: string;
  readonly source: string;
  readonly options: readonly string[];
  readonly helper?: boolean;
}

export interface SubPathMount {
  /** The volume's place on the host. */
  readonly root: string;
  /** Relative to it. */
  readonly subPath: string;
  /** The mount target; created, with its parents. */
  readonly target: string;
}

export type BindBeneathResult =
  /** `reused`: an earlier start of the container already mounted it there. */
  | { kind: 'mounted'; reused: boolean }
  /**
   * `create`: a missing part could not be created; `open`: the path leads out of the volume, or changed while it was
   * checked. `why` may contain facts about the host.
   */
  | { kind: 'refused'; step: 'create' | 'open'; why: string };

/** Mounting on the host. Each operation that can hang runs in a killable child with a deadline. */
export interface Mounts {
  mountTmpfs(path: string, options: { sizeBytes?: number; mode?: number; noswap?: boolean }): Promise<void>;
  bind(source: string, target: string, options: { readOnly: boolean }): Promise<void>;
  /**
   * Any other file system, at an existing directory (a device, an export, hugetlbfs). With `helper` the file system's
   * own program (mount.nfs) does it, killed with its children at the deadline; `NotFound` with the program's name where
   * it is not installed.
   */
  mount(target: string, how: MountOrder): Promise<void>;
  /**
   * Mounts a part of a volume at a path of the agent's own, so that changes a pod makes to its volume meanwhile cannot
   * redirect it: opened component by component without following links, except links within the volume; missing
   * components become directories with the volume's mode; what was opened is what is mounted. A matching mount at the
   * target is kept, any other is replaced.
   */
  bindBeneath(mount: SubPathMount): Promise<BindBeneathResult>;
  /**
   * Not mounted is success. `force` abandons a server that does not respond, and data that was not written to it
   * (umount -f).
   */
  unmount(path: string, options?: { force?: boolean }): Promise<void>;
  /** From /proc/self/mountinfo, so it never accesses the mounted file system. */
  listBelow(path: string): Promise<MountPoint[]>;
  /**
   * Makes mounts below it propagate to containers and back. A path on a shared mount stays as it is; any other is bound
   * to itself first.
   */
  makeRshared(path: string): Promise<void>;
  /** Whether the kernel can keep a tmpfs out of swap. mountTmpfs with `noswap` mounts without it where it cannot. */
  supportsTmpfsNoswap(): Promise<boolean>;
}
