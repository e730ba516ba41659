import type { AgentMetrics } from './agent-metrics.ts';

/** Counts evictions, and the age of the figures on which they were based. */
export function observedEvictions({ main }: Pick<AgentMetrics, 'main'>): {
  onEvicted: (signal: string) => void;
  onStatsAge: (signal: string, ageMs: number) => void;
} {
  return {
    onEvicted: (signal) => main.count('kubelet_evictions', { eviction_signal: signal }),
    onStatsAge: (signal, ageMs) =>
      main.observe('kubelet_eviction_stats_age_seconds', { eviction_signal: signal }, ageMs / 1000),
  };
}
