import type { LogFile } from './log-files.ts';

export type SystemLogEntry =
  | { readonly kind: 'file'; readonly file: LogFile }
  | { readonly kind: 'folder'; readonly entries: readonly { readonly name: string; readonly isFolder: boolean }[] };

/**
 * The node's own logs below one folder. It opens only regular files and folders, without symlinks on the way: a
 * container that mounts that folder can write to it, and must not be able to read the host's files as root
 * (TOB-K8S-026). Rejects with NotFound, and with Invalid for another file type.
 */
export interface SystemLogs {
  /** Opens a file or folder. `path` is relative to the folder, and empty for the folder itself. */
  open(path: string): Promise<SystemLogEntry>;
}
