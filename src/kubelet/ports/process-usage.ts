/** Resource usage of the agent's process. */
export interface ProcessUsage {
  cpuSeconds: number;
  openFiles: number;
  openFilesLimit: number;
  residentBytes: number;
  virtualBytes: number;
  virtualLimitBytes: number;
  startedAtMs: number;
  receivedBytes: number;
  sentBytes: number;
  heapTotalBytes: number;
  heapUsedBytes: number;
  /** Share of the time since the last measurement. */
  eventLoopUtilization: number;
}
