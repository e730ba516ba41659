/** The node's disk as the provisioner sees it: one directory per volume below one root. */
export interface VolumeDisk {
  /** The directory of a volume, which may not be there yet. */
  pathOf(volumeName: string): string;
  /** Makes the directory, empty and writable for every user of a pod; one that is there stays as it is. */
  create(volumeName: string): Promise<void>;
  /**
   * Limits what the directory may hold, where the file system can (project quotas). Resolves with whether it is
   * enforced. Repeating it changes the limit.
   */
  limit(volumeName: string, sizeBytes: number): Promise<boolean>;
  /** Removes the directory with everything in it, and nothing outside of it. One that is gone is removed. */
  remove(volumeName: string): Promise<void>;
  /** Removes the directory if nothing is in it. Resolves with whether it is gone. */
  removeEmpty(volumeName: string): Promise<boolean>;
  /** Bytes that a user without special rights can still write. */
  freeBytes(): Promise<number>;
  /** The volumes that have a directory. */
  list(): Promise<readonly string[]>;
}
