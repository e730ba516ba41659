/** How busy the node's processors have been since boot. Only differences between two readings are meaningful. */
export interface NodeLoad {
  /** Of all processors together. */
  readonly idleMs: number;
  readonly capacityMs: number;
  /**
   * Wall time during which at least one task waited for a processor (the kernel's pressure stall information);
   * undefined where the kernel does not count it.
   */
  readonly stalledMs: number | undefined;
  /** Tasks that run or want to, at this moment. */
  readonly runnable: number;
  readonly cores: number;
}

/** Undefined where it cannot be read. Costs some 50 µs and never blocks. */
export type ReadNodeLoad = () => NodeLoad | undefined;
