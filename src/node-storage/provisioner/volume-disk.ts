/** The node's disk as the provisioner sees it: one directory per volume below one root. */
export interface VolumeDisk {
  /** The directory of a volume, which may not be there yet. */
  pathOf(volumeName: string): string;
  /** Creates the directory, empty and writable for every user. An existing directory is not changed. */
  create(volumeName: string): Promise<void>;
  /**
   * Limits the size of the directory if the file system supports it (project quotas). Resolves with whether the limit
   * is enforced. Calling it again changes the limit.
   */
  limit(volumeName: string, sizeBytes: number): Promise<boolean>;
  /** Removes the directory and everything in it, and nothing outside of it. A missing directory is success. */
  remove(volumeName: string): Promise<void>;
  /** Removes the directory if it is empty. Resolves with whether it is gone. */
  removeEmpty(volumeName: string): Promise<boolean>;
  /** Free bytes that a user without special rights can write. */
  freeBytes(): Promise<number>;
  /** The volumes that have a directory. */
  list(): Promise<readonly string[]>;
}
