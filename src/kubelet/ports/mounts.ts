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
  /** The path of the volume on the host. */
  readonly root: string;
  /** A path relative to the root. */
  readonly subPath: string;
  /** The mount target, which is created with its parents. */
  readonly target: string;
}

export type BindBeneathResult =
  /** `reused`: an earlier start of the container already mounted it. */
  | { kind: 'mounted'; reused: boolean }
  /**
   * `create`: a missing part could not be created. `open`: the path leads out of the volume, or changed while it was
   * checked. `why` may contain facts about the host.
   */
  | { kind: 'refused'; step: 'create' | 'open'; why: string };

/** Mounts on the host. Each operation that can hang runs in a child with a deadline. */
export interface Mounts {
  mountTmpfs(path: string, options: { sizeBytes?: number; mode?: number; noswap?: boolean }): Promise<void>;
  bind(source: string, target: string, options: { readOnly: boolean }): Promise<void>;
  /**
   * Mounts a file system at an existing directory (a device, an export, hugetlbfs). With `helper` the file system's own
   * program (mount.nfs) does it, and is killed with its children at the deadline. Rejects with `NotFound` and the
   * program's name if it is not installed.
   */
  mount(target: string, how: MountOrder): Promise<void>;
  /**
   * Mounts a part of a volume at a path of the agent, so that a pod cannot redirect it by changes to its volume. The
   * part is opened component by component without following links, except links within the volume, and the opened file
   * is what is mounted. Missing components become directories with the volume's mode. A matching mount at the target is
   * kept, and another one is replaced.
   */
  bindBeneath(mount: SubPathMount): Promise<BindBeneathResult>;
  /**
   * Unmounts. If nothing is mounted, it succeeds. `force` abandons a server that does not respond, with data that was
   * not written to it (umount -f).
   */
  unmount(path: string, options?: { force?: boolean }): Promise<void>;
  /** Lists the mounts below a path from /proc/self/mountinfo, so it never accesses the mounted file system. */
  listBelow(path: string): Promise<MountPoint[]>;
  /**
   * Makes mounts below the path propagate to containers and back. A path on a shared mount is left unchanged; another
   * one is first bound to itself.
   */
  makeRshared(path: string): Promise<void>;
  /** Whether the kernel can keep a tmpfs out of swap. If not, mountTmpfs with `noswap` mounts without it. */
  supportsTmpfsNoswap(): Promise<boolean>;
}
