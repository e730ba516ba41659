import { MetricSet } from './metric-set.ts';
import { managerFamilies } from './families/families-managers.ts';
import { nodeFamilies } from './families/families-node.ts';
import { deviceFamilies } from './families/families-devices.ts';
import { podFamilies } from './families/families-pods.ts';
import { sharedFamilies } from './families/families-shared.ts';
import { probeFamilies, sliFamilies } from './families/probe-families.ts';
import { processFamilies } from './families/process-families.ts';

export const mainFamilies = {
  ...nodeFamilies,
  ...deviceFamilies,
  ...managerFamilies,
  ...podFamilies,
  ...sharedFamilies,
  ...processFamilies,
} as const;

/**
 * All metrics of the agent, one set per endpoint. Features do not depend on them: their events are counted where they
 * are composed.
 */
export interface AgentMetrics {
  /** The families of /metrics. */
  readonly main: MetricSet<typeof mainFamilies>;
  /** The families of /metrics/probes. */
  readonly probes: MetricSet<typeof probeFamilies>;
  /** The families of /metrics/slis. */
  readonly slis: MetricSet<typeof sliFamilies>;
}

export function createAgentMetrics(): AgentMetrics {
  return { main: new MetricSet(mainFamilies), probes: new MetricSet(probeFamilies), slis: new MetricSet(sliFamilies) };
}
