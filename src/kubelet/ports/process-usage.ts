/** Resource usage of the agent's process. */
export interface ProcessUsage {
  readonly cpuSeconds: number;
  readonly openFiles: number;
  readonly openFilesLimit: number;
  readonly residentBytes: number;
  readonly virtualBytes: number;
  readonly virtualLimitBytes: number;
  readonly startedAtMs: number;
  readonly receivedBytes: number;
  readonly sentBytes: number;
  readonly heapTotalBytes: number;
  readonly heapUsedBytes: number;
  /** The share of the time since the last measurement; 0 to 1. */
  readonly eventLoopUtilization: number;
}
