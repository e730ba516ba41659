/** Measures this process. One measurement at a time; a second one rejects with `Conflict`. */
export interface Profiler {
  /** Where time goes, in V8's .cpuprofile format. */
  cpu(durationMs: number, signal: AbortSignal): Promise<string>;
  /** Where memory is taken, in V8's .heapprofile format. */
  heap(durationMs: number, signal: AbortSignal): Promise<string>;
}
