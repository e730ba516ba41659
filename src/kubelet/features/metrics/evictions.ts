import type { AgentMetrics } from './agent-metrics.ts';

/** Counts evictions, and how old the figures were from which they were decided. */
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
