import type { LogFile } from './log-files.ts';

export type SystemLogEntry =
  | { readonly kind: 'file'; readonly file: LogFile }
  | { readonly kind: 'folder'; readonly entries: readonly { readonly name: string; readonly isFolder: boolean }[] };

/**
 * The node's own logs below one folder. Regular files and folders only, without symlinks on the way: a container with
 * that folder mounted can write there, and must not be able to read the host's files as root (TOB-K8S-026). Errors:
 * NotFound; Invalid for any other file type.
 */
export interface SystemLogs {
  /** `path` is relative to the folder, and empty for the folder itself. */
  open(path: string): Promise<SystemLogEntry>;
}
