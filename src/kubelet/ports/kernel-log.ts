/** One record of the kernel's log. */
export interface KernelMessage {
  /** Rises by one with each record since boot. */
  readonly sequence: number;
  /** Written by the kernel, not by a program: privileged programs may add records of their own. */
  readonly byKernel: boolean;
  /** Without the line break; at most `KERNEL_TEXT_LIMIT` characters. Characters that are not printable are escaped. */
  readonly text: string;
  /** Whether the record was written before the call of `follow`. */
  readonly isOld?: boolean;
}

export interface KernelLogHandlers {
  readonly onMessage: (message: KernelMessage) => void;
  /** The kernel overwrote records before they were read. */
  readonly onLost: () => void;
  /** Following ended; `follow` can be called again. */
  readonly onEnd: (reason: string) => void;
}

/** Longer texts are truncated. The kernel's own limit is about 1 KiB. */
export const KERNEL_TEXT_LIMIT = 4096;

/** The log of the kernel (`dmesg`). */
export interface KernelLog {
  /**
   * Follows the records that are written from now on; with `sinceBoot` those that the kernel still has come first, the
   * first ones perhaps before the call returns. Returns a function that stops it without a call of `onEnd`.
   * Throws Unavailable where the log cannot be opened.
   */
  follow(handlers: KernelLogHandlers, options?: { readonly sinceBoot: boolean }): () => void;
}
