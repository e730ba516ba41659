/** One record of the kernel's log. */
export interface KernelMessage {
  /** The number of the record, which increases by one with each record since boot. */
  readonly sequence: number;
  /** Whether the kernel wrote it, and not a program: privileged programs can add records. */
  readonly byKernel: boolean;
  /**
   * The text without the line break, at most `KERNEL_TEXT_LIMIT` characters. Characters that are not printable are
   * escaped.
   */
  readonly text: string;
  /** Whether the record was written before the call of `follow`. */
  readonly isOld?: boolean;
}

export interface KernelLogHandlers {
  readonly onMessage: (message: KernelMessage) => void;
  /** Called when the kernel overwrote records before they were read. */
  readonly onLost: () => void;
  /** Called when following ended. `follow` can be called again. */
  readonly onEnd: (reason: string) => void;
}

/** Longer texts are truncated. The kernel's own limit is about 1 KiB. */
export const KERNEL_TEXT_LIMIT = 4096;

/** The log of the kernel (`dmesg`). */
export interface KernelLog {
  /**
   * Follows the records that are written from now on. With `sinceBoot`, the records that the kernel still has come
   * first, possibly before the call returns. Returns a function that stops it without calling `onEnd`. Throws
   * Unavailable if the log cannot be opened.
   */
  follow(handlers: KernelLogHandlers, options?: { readonly sinceBoot: boolean }): () => void;
}
