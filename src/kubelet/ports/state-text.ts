/** One of upstream's state files: the content that an earlier agent left, and where the state is saved. */
export interface StateText {
  /** The content; undefined if there is none. */
  readonly text: string | undefined;
  /** Renames the file because its content is invalid, so that the operator can read it. */
  setAside(why: string): void;
  /** Sets the function that returns the text to write. */
  follow(snapshot: () => string): void;
  /** Requests a write of the changed text soon. */
  changed(): void;
  /** Resolves when the newest text is on disk or could not be written. */
  flush(): Promise<void>;
}
