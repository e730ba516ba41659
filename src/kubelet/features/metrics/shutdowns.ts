import type { AgentMetrics } from './agent-metrics.ts';

/** When the last graceful shutdown began and ended, in wall-clock milliseconds; undefined if it did not. */
interface ShutdownTimes {
  readonly startMs: number | undefined;
  readonly endMs: number | undefined;
}

export function countShutdown({ main }: Pick<AgentMetrics, 'main'>, { startMs, endMs }: ShutdownTimes): void {
  main.set('kubelet_graceful_shutdown_start_time_seconds', {}, unixSeconds(startMs));
  main.set('kubelet_graceful_shutdown_end_time_seconds', {}, unixSeconds(endMs));
}

/** Returns whole seconds, as upstream (upstream: nodeshutdown/storage.go timestamp). */
function unixSeconds(ms: number | undefined): number {
  return ms === undefined ? 0 : Math.floor(ms / 1000);
}
