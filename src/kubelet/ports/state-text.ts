/** One of upstream's state files: what an earlier agent left, and where the state is saved. */
export interface StateText {
  /** Undefined: there is none. */
  readonly text: string | undefined;
  /** The content cannot be used: it is kept under another name for the operator. */
  setAside(why: string): void;
  /** From now on a write takes this text. */
  follow(snapshot: () => string): void;
  /** The text changed: it is written soon. */
  changed(): void;
  /** Resolves when the newest text is on disk, or could not be written. */
  flush(): Promise<void>;
}
