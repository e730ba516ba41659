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
  /** The owner; by default the agent's user. */
  readonly uid?: number;
}

export interface GroupOwnership {
  readonly gid: number;
  /** Whether the group may only read; otherwise it may also write. */
  readonly readOnly: boolean;
}

export interface OwnershipOutcome {
  /** The number of visited files, directories and links. */
  entries: number;
  /** The number of those that could not be changed. */
  refused: number;
  firstError?: string;
}

/**
 * The part of the host's file system that the agent needs. Every call may hang on a dead mount: callers with a path of
 * a pod use `withDeadline` and never block the loop. Errors: NotFound, AlreadyExists, Conflict (directory not empty, is
 * a mount point), Invalid (larger than the limit, a symlink where none is followed, wrong type), Unavailable (no space,
 * read-only, I/O), Internal.
 */
export interface HostFiles {
  readText(path: string, limitBytes?: number): Promise<string>;
  readBytes(path: string, limitBytes?: number): Promise<Uint8Array>;
  /** Reads at most `lengthBytes` from `offsetBytes`, without following a symlink in the last component. */
  readRange(path: string, offsetBytes: number, lengthBytes: number): Promise<Uint8Array>;
  /**
   * Reads a regular file of an untrusted folder, resolved as for a process whose root directory is `root`. Links cannot
   * lead outside, even if they are swapped meanwhile. Mounts inside are not entered, and only regular files are opened.
   * Rejects with `NotFound`, and with `Invalid` for another type or a file above the limit.
   */
  readBeneath(root: string, path: string, limitBytes: number): Promise<Uint8Array>;
  /**
   * Writes a file with exactly this mode, independent of the umask. It never follows a symlink in the last component;
   * neither does appendFile.
   */
  writeFile(path: string, content: string | Uint8Array, mode: number): Promise<void>;
  /**
   * Writes to a temporary file beside it and renames it, so that readers see either the old or the new content. It is
   * synced to disk first, unless the content need not survive a power failure. The temporary file is `.NAME.` with
   * twelve hex digits and `.tmp`; a kill leaves it.
   */
  writeFileAtomic(
    path: string,
    content: string | Uint8Array,
    mode: number,
    options?: { survivesPowerCut?: boolean },
  ): Promise<void>;
  appendFile(path: string, content: string): Promise<void>;
  /**
   * Creates a directory and its parents with exactly this mode, independent of the umask. An existing directory is not
   * an error and keeps its mode.
   */
  makeDirectory(path: string, mode: number): Promise<void>;
  /**
   * The same in a folder that other users can write to. Links below `folder` are followed only if they stay in it;
   * otherwise it rejects with `Invalid`.
   */
  makeDirectoryBeneath(folder: string, path: string, mode: number): Promise<void>;
  /**
   * Creates the directory `name` in `folder` with these files, by paths relative to it. Users who can write to `folder`
   * cannot redirect it by swapping links meanwhile. Rejects with `AlreadyExists` if the name is in use. The caller
   * removes the incomplete result of a failure.
   */
  makeTree(folder: string, name: string, files: ReadonlyMap<string, TreeFile>): Promise<void>;
  /** Removes a file or an empty directory. A missing one is not an error. */
  remove(path: string): Promise<void>;
  /**
   * Removes a tree of any depth and size, without crossing a mount point or following symlinks. Rejects with
   * `Unavailable` if something is mounted below.
   */
  removeTree(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  symlink(target: string, path: string): Promise<void>;
  readLink(path: string): Promise<string>;
  /** Returns the information of a file; undefined if it does not exist. It does not follow a symlink. */
  lstat(path: string): Promise<FileInfo | undefined>;
  /** Returns the information of a file, and follows symlinks. */
  stat(path: string): Promise<FileInfo | undefined>;
  /** Returns the names in a directory, sorted; empty for a missing one. */
  list(path: string): Promise<string[]>;
  /** Changes the mode. Rejects with `Invalid` for a symlink in the last component. */
  chmod(path: string, mode: number): Promise<void>;
  /** Changes the owner of a symlink itself, and not of its target. -1 leaves an id unchanged. */
  chown(path: string, uid: number, gid: number): Promise<void>;
  /**
   * Gives `path` and all below it to a group (modes: `computeGroupMode`), the content first. It follows no link and
   * enters no mount. For a link only its own group changes. A missing path is not an error. Another process handles
   * large trees.
   */
  giveToGroup(path: string, group: GroupOwnership, onProgress?: (entries: number) => void): Promise<OwnershipOutcome>;
  /** Compresses a regular file with gzip into `to`. Rejects with `Invalid` for another type, including a symlink. */
  gzip(from: string, to: string): Promise<void>;
  /**
   * Watches a file or directory (not recursively). `onChange` receives the name below it, if known. `settled`: the
   * content is complete (renamed into place or deleted); otherwise it may still be written. `removed`: the file of that
   * name was deleted, although another may exist by now. It is not set if the file was moved to another name in its
   * folder or replaced by a rename. Returns a function that stops the watch. If the path vanishes or watching is
   * impossible, `onLost` is called and the watch ends.
   */
  watch(
    path: string,
    handlers: {
      onChange: (name: string | undefined, settled: boolean, removed: boolean) => void;
      onLost: (reason: string) => void;
    },
  ): () => void;
}
