/** An open log file, so that renaming or removing it does not affect its reader. */
export interface LogFile {
  readonly inode: number;
  sizeBytes(): Promise<number>;
  /** At most `lengthBytes` from `offsetBytes`; fewer at the end, none beyond it. */
  read(offsetBytes: number, lengthBytes: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Opens logs that containers with a writable /var/log could have replaced (TOB-K8S-026): only a regular file that
 * really lies below `beneath`, without symlinks on the way down from there, never blocking. Errors: NotFound; Invalid
 * for any other file type.
 */
export interface LogFiles {
  open(path: string, beneath: string): Promise<LogFile>;
}
