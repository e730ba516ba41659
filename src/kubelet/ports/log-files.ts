/** A file of lines kept open, so that renaming or removing it does not take it away from its reader. */
export interface LogFile {
  readonly inode: number;
  sizeBytes(): Promise<number>;
  /** At most `lengthBytes` from `offsetBytes`; fewer at the end, none beyond it. */
  read(offsetBytes: number, lengthBytes: number): Promise<Uint8Array>;
  close(): Promise<void>;
}

/**
 * Opening logs that containers with a writable /var/log could have replaced by anything (TOB-K8S-026): only a regular file that really lies
 * below `beneath`, no symlink on the way down from there, never blocking. Errors: NotFound; Invalid for anything else that stands there.
 */
export interface LogFiles {
  open(path: string, beneath: string): Promise<LogFile>;
}
