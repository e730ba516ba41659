export interface FileInfo {
  readonly type: 'file' | 'directory' | 'symlink' | 'socket' | 'fifo' | 'block' | 'char' | 'other';
  readonly sizeBytes: number;
  readonly mode: number;
  readonly modifiedMs: number;
  readonly inode: number;
  readonly device: number;
  readonly uid: number;
  readonly gid: number;
}

/** A file of a tree to be created. */
export interface TreeFile {
  readonly content: Uint8Array;
  readonly mode: number;
  /** Its owner; the agent's user when not given. */
  readonly uid?: number;
}

export interface GroupOwnership {
  readonly gid: number;
  /** The group may read; else it may write too. */
  readonly readOnly: boolean;
}

export interface OwnershipOutcome {
  /** How many files, directories and links were visited. */
  entries: number;
  /** How many of them could not be changed. */
  refused: number;
  firstError?: string;
}

/**
 * The host's file system, as far as the agent needs it. Every call may hang on a dead mount: callers on a pod's path
 * use `withDeadline` and never block the loop. Errors: NotFound, AlreadyExists, Conflict (directory not empty, is a
 * mount point), Invalid (larger than the limit, a symlink where none is followed, wrong type), Unavailable (no space,
 * read-only, I/O), Internal.
 */
export interface HostFiles {
  readText(path: string, limitBytes?: number): Promise<string>;
  readBytes(path: string, limitBytes?: number): Promise<Uint8Array>;
  /** Reads at most `lengthBytes` from `offsetBytes`, without following a symlink in the last component. */
  readRange(path: string, offsetBytes: number, lengthBytes: number): Promise<Uint8Array>;
  /**
   * Reads a regular file of an untrusted folder, resolved as for a process whose root directory is `root`: links cannot
   * lead outside, even if they are swapped meanwhile, mounts inside are not entered, and only regular files are opened.
   * `NotFound`; `Invalid` for any other type, and for a file larger than the limit.
   */
  readBeneath(root: string, path: string, limitBytes: number): Promise<Uint8Array>;
  /** Exactly this mode whatever the umask; never through a symlink in the last component (neither does appendFile). */
  writeFile(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  /**
   * Writes to a temporary file next to it and renames it: readers see the old or the new content, never a part. Synced
   * to disk first unless the content need not survive a power failure. The temporary file is called `.NAME.` with
   * twelve hex digits and `.tmp`; a kill leaves it behind.
   */
  writeFileAtomic(
    path: string,
    content: string | Uint8Array,
    mode: number,
    options?: { survivesPowerCut?: boolean },
  ): Promise<void>;
  appendFile(path: string, content: string): Promise<void>;
  /** With its parents; exactly this mode whatever the umask. An existing directory is success and keeps its mode. */
  makeDirectory(path: string, mode: number): Promise<void>;
  /**
   * The same for a folder that other users can write to: links below `folder` are followed only as long as they stay in
   * it, else `Invalid`.
   */
  makeDirectoryBeneath(folder: string, path: string, mode: number): Promise<void>;
  /**
   * Creates the directory `name` in `folder` and these files in it, by paths relative to it. Users who can write to
   * `folder` cannot redirect it by swapping links meanwhile. `AlreadyExists` when the name is taken; the caller removes
   * what a failure leaves half done.
   */
  makeTree(folder: string, name: string, files: ReadonlyMap<string, TreeFile>): Promise<void>;
  /** Removes a file or an empty directory; a missing one is success. */
  remove(path: string): Promise<void>;
  /**
   * Removes a tree, however deep and wide, without crossing a mount point or following symlinks; `Unavailable` when
   * something is mounted below.
   */
  removeTree(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  /** undefined when it does not exist; does not follow a symlink. */
  lstat(path: string): Promise<FileInfo | undefined>;
  /** Follows symlinks. */
  stat(path: string): Promise<FileInfo | undefined>;
  /** Names in a directory, sorted; empty for a missing one. */
  list(path: string): Promise<string[]>;
  /** Does not follow a symlink in the last component: `Invalid`. */
  chmod(path: string, mode: number): Promise<void>;
  /** Changes the owner of a symlink itself, not of its target; -1 leaves an id unchanged. */
  chown(path: string, uid: number, gid: number): Promise<void>;
  /**
   * Gives `path` and all below it to a group (modes: `computeGroupMode`), the content first. Follows no link and enters
   * no mount; of a link only the group changes. A missing path is success. However large the tree is, the agent's own
   * thread does little of the work.
   */
  giveToGroup(path: string, group: GroupOwnership, onProgress?: (entries: number) => void): Promise<OwnershipOutcome>;
  /** Compresses a regular file with gzip into `to`; `Invalid` for anything else, a symlink too. */
  gzip(from: string, to: string): Promise<void>;
  /**
   * Watches a file or directory (not recursive). `onChange` gets the name below it when known. `settled`: the content
   * is complete (renamed into place or deleted) rather than possibly still being written. `removed`: the file of that
   * name was deleted, though another may exist by now; not set when it was moved to another name in its folder or
   * replaced by a rename. Returns a function that stops the watch. When the path vanishes or watching is impossible,
   * `onLost` is called and the watch ends.
   */
  watch(
    path: string,
    handlers: {
      onChange: (name: string | undefined, settled: boolean, removed: boolean) => void;
      onLost: (reason: string) => void;
    },
  ): () => void;
}
