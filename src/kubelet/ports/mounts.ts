export interface MountPoint {
  path: string;
  fsType: string;
  source: string;
}

export interface MountOrder {
  fsType: string;
  source: string;
  options: readonly string[];
  helper?: boolean;
}

export interface SubPathMount {
  /** The volume's place on the host. */
  root: string;
  /** Relative to it. */
  subPath: string;
  /** Where it is to be seen; made, with its parents. */
  target: string;
}

export type BindBeneathResult =
  /** `reused`: it was mounted there already, by an earlier start of the container. */
  | { kind: 'mounted'; reused: boolean }
  /** `create`: what is missing could not be made; `open`: it leads out of the volume, or was changed while it was looked at. `why` may tell of the host. */
  | { kind: 'refused'; step: 'create' | 'open'; why: string };

/** Mounting on the host. Each operation that can hang runs in a killable child with a deadline. */
export interface Mounts {
  mountTmpfs(path: string, options: { sizeBytes?: number; mode?: number; noswap?: boolean }): Promise<void>;
  bind(source: string, target: string, options: { readOnly: boolean }): Promise<void>;
  /**
   * Any other file system, at an existing directory (a device, an export, hugetlbfs). With `helper` the file system's own program (mount.nfs)
   * does it, killed with its children at the deadline; `NotFound` with the program's name where it is not installed.
   */
  mount(target: string, how: MountOrder): Promise<void>;
  /**
   * Mounts a part of a volume at a place of the agent's own, so that nothing a pod does to its volume meanwhile leads elsewhere: opened component by
   * component without following, links only within the volume; what is missing becomes directories with the volume's mode; what was opened is
   * what is mounted. A mount at the target that fits is left, any other is replaced.
   */
  bindBeneath(mount: SubPathMount): Promise<BindBeneathResult>;
  /** Not mounted is success. `force` gives up on a server that does not answer, and on what was not written to it (umount -f). */
  unmount(path: string, options?: { force?: boolean }): Promise<void>;
  /** From /proc/self/mountinfo, so it never touches the mounted file system. */
  listBelow(path: string): Promise<MountPoint[]>;
  /** So that mounts made below it reach containers and back. One that lies on a shared mount already stays as it is; any other is bound to itself first. */
  makeRshared(path: string): Promise<void>;
  /** Whether the kernel can keep a tmpfs out of swap. mountTmpfs with `noswap` mounts without it where it cannot. */
  supportsTmpfsNoswap(): Promise<boolean>;
}
