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

/** Mounting on the host. Each operation that can hang runs in a killable child with a deadline. */
export interface Mounts {
  mountTmpfs(path: string, options: { sizeBytes?: number; mode?: number; noswap?: boolean }): Promise<void>;
  bind(source: string, target: string, options: { readOnly: boolean }): Promise<void>;
  /**
   * Any other file system, at an existing directory (a device, an export, hugetlbfs). With `helper` the file system's own program (mount.nfs)
   * does it, killed with its children at the deadline; `NotFound` with the program's name where it is not installed.
   */
  mount(target: string, how: MountOrder): Promise<void>;
  /** Not mounted is success. */
  unmount(path: string): Promise<void>;
  /** From /proc/self/mountinfo, so it never touches the mounted file system. */
  listBelow(path: string): Promise<MountPoint[]>;
  makeRshared(path: string): Promise<void>;
  /** Whether the kernel can keep a tmpfs out of swap. mountTmpfs with `noswap` mounts without it where it cannot. */
  supportsTmpfsNoswap(): Promise<boolean>;
}
