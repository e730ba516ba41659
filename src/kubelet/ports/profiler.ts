/** Profiles this process. One profile at a time; a second one rejects with `Conflict`. */
export interface Profiler {
  /** Profiles CPU time, in V8's .cpuprofile format. */
  cpu(durationMs: number, signal: AbortSignal): Promise<string>;
  /** Profiles memory allocations, in V8's .heapprofile format. */
  heap(durationMs: number, signal: AbortSignal): Promise<string>;
}
