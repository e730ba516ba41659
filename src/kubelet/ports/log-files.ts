/** An open log file. Renaming or removing it does not affect its reader. */
export interface LogFile {
  readonly inode: number;
  sizeBytes(): Promise<number>;
  /** Reads at most `lengthBytes` from `offsetBytes`: fewer at the end, and none beyond it. */
  read(offsetBytes: number, lengthBytes: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Opens logs that containers with a writable /var/log could have replaced (TOB-K8S-026). It opens only a regular file
 * that really is below `beneath`, without symlinks on the way from there, and never blocks. Rejects with NotFound, and
 * with Invalid for another file type.
 */
export interface LogFiles {
  open(path: string, beneath: string): Promise<LogFile>;
}
