export interface FileInfo {
  type: 'file' | 'directory' | 'symlink' | 'socket' | 'fifo' | 'block' | 'char' | 'other';
  sizeBytes: number;
  mode: number;
  modifiedMs: number;
  inode: number;
  device: number;
  uid: number;
  gid: number;
}

/** A file of a tree to be made. */
export interface TreeFile {
  content: Uint8Array;
  mode: number;
  /** Its owner; the agent's user when not given. */
  uid?: number;
}

export interface GroupOwnership {
  gid: number;
  /** The group may read; else it may write too. */
  readOnly: boolean;
}

export interface OwnershipOutcome {
  /** How many files, directories and links were looked at. */
  entries: number;
  /** How many of them could not be changed. */
  refused: number;
  firstError?: string;
}

/**
 * The host's file system, as far as the agent needs it. Every call may hang on a dead mount: callers on a pod's path use
 * `withDeadline` and never hold the loop. Errors: NotFound, AlreadyExists, Conflict (directory not empty, is a mount point),
 * Invalid (larger than the limit, a symlink where none is followed, wrong type), Unavailable (no space, read-only, I/O), Internal.
 */
export interface HostFiles {
  readText(path: string, limitBytes?: number): Promise<string>;
  readBytes(path: string, limitBytes?: number): Promise<Uint8Array>;
  /** Reads at most `lengthBytes` from `offsetBytes`, without following a symlink in the last component. */
  readRange(path: string, offsetBytes: number, lengthBytes: number): Promise<Uint8Array>;
  /**
   * Reads a regular file of a folder in which nobody is to be trusted, as a process would to which `root` is the root directory: links lead
   * nowhere outside, whatever is swapped meanwhile, no mount inside is entered, and nothing but a file is ever opened. `NotFound`; `Invalid` for any other thing,
   * and for a file larger than the limit.
   */
  readBeneath(root: string, path: string, limitBytes: number): Promise<Uint8Array>;
  /** Exactly this mode whatever the umask; never through a symlink in the last component (neither does appendFile). */
  writeFile(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  /** Writes to a temporary file beside it and renames it: readers see the old or the new content, never a part. Synced to the disk first unless told that the content need not survive a power cut. */
  writeFileAtomic(
    path: string,
    content: string | Uint8Array,
    mode: number,
    options?: { survivesPowerCut?: boolean },
  ): Promise<void>;
  appendFile(path: string, content: string): Promise<void>;
  /** With its parents; exactly this mode whatever the umask. One that is there already is success and keeps its mode. */
  makeDirectory(path: string, mode: number): Promise<void>;
  /** The same for a folder that others may write to: links below `folder` are followed only as long as they stay in it, else `Invalid`. */
  makeDirectoryBeneath(folder: string, path: string, mode: number): Promise<void>;
  /**
   * Makes the new directory `name` in `folder` and these files in it, by paths relative to it. Nothing that is swapped meanwhile by others who
   * may write to `folder` leads elsewhere. `AlreadyExists` when the name is taken; what a failure leaves half made is the caller's to remove.
   */
  makeTree(folder: string, name: string, files: ReadonlyMap<string, TreeFile>): Promise<void>;
  /** Removes a file or an empty directory; what is gone is success. */
  remove(path: string): Promise<void>;
  /** Removes a tree, however deep and wide, without crossing a mount point or following symlinks; `Unavailable` when something is mounted below. */
  removeTree(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  /** undefined when there is nothing; does not follow a symlink. */
  lstat(path: string): Promise<FileInfo | undefined>;
  /** Follows symlinks. */
  stat(path: string): Promise<FileInfo | undefined>;
  /** Names in a directory, sorted; empty for a missing one. */
  list(path: string): Promise<string[]>;
  /** Not through a symlink in the last component: `Invalid`. */
  chmod(path: string, mode: number): Promise<void>;
  /** Of a symlink itself, not of its target; -1 leaves a number alone. */
  chown(path: string, uid: number, gid: number): Promise<void>;
  /**
   * Gives `path` and all below it to a group (modes: `computeGroupMode`), what is inside first. Follows no link and enters no mount; a link changes
   * its group only. Nothing there is success. However large the tree is, the agent's own thread does little of the work.
   */
  giveToGroup(path: string, group: GroupOwnership, onProgress?: (entries: number) => void): Promise<OwnershipOutcome>;
  /** Compresses a regular file with gzip into `to`; `Invalid` for anything else, a symlink too. */
  gzip(from: string, to: string): Promise<void>;
  /**
   * Watches a file or directory (not recursive). `onChange` gets the name below it when known. `settled` tells that the content is
   * complete (renamed into place or deleted) rather than perhaps still being written. `removed` tells that the file of that name was deleted, though
   * another may be there by now; one that was moved to another name of its folder, or that another was renamed over, was not.
   * Returns a function that stops it. When the path vanishes or watching is impossible `onLost` is called and the watch is over.
   */
  watch(
    path: string,
    handlers: {
      onChange: (name: string | undefined, settled: boolean, removed: boolean) => void;
      onLost: (reason: string) => void;
    },
  ): () => void;
}
