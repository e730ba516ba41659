import type { LogFile } from './log-files.ts';

export type SystemLogEntry =
  | { readonly kind: 'file'; readonly file: LogFile }
  | { readonly kind: 'folder'; readonly entries: readonly { readonly name: string; readonly isFolder: boolean }[] };

/**
 * The node's own logs below one folder. Regular files and folders only, no symlink anywhere on the way: whoever may write there, as containers with that
 * folder mounted can, does not therefore read the host as root (TOB-K8S-026). Errors: NotFound; Invalid for whatever else stands there.
 */
export interface SystemLogs {
  /** `path` is relative to the folder, and empty for the folder itself. */
  open(path: string): Promise<SystemLogEntry>;
}
