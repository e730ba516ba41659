/** How busy the node's processors have been since boot. Only differences between two readings are meaningful. */
export interface NodeLoad {
  /** The sum of all processors. */
  readonly idleMs: number;
  readonly capacityMs: number;
  /**
   * The wall-clock time in which at least one task waited for a processor (the kernel's pressure stall information);
   * undefined if the kernel does not count it.
   */
  readonly stalledMs: number | undefined;
  /** The number of tasks that run or could run now. */
  readonly runnable: number;
  readonly cores: number;
}

/** Reads the load; undefined if that is not possible. It costs about 50 µs and never blocks. */
export type ReadNodeLoad = () => NodeLoad | undefined;
