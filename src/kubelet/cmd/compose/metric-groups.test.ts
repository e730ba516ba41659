import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { mainFamilies } from '../../features/metrics/agent-metrics.ts';
import type { MetricFamily } from '../../features/metrics/metric-family.ts';
import { probeFamilies, sliFamilies } from '../../features/metrics/probe-families.ts';
import { cadvisorFamilyNames } from '../../features/stats/cadvisor-text.ts';
import { resourceFamilies } from '../../features/stats/resource-text.ts';
import { metricGroups, namesIn, type MetricGroup } from '../../model/parity/metric-groups.ts';

function listed(endpoint: MetricGroup['endpoint']): string[] {
  const groups = metricGroups.filter((group) => group.endpoint === endpoint);
  return groups
    .flatMap(({ stable, beta, alpha }) => [
      ...namesIn(stable).map((name) => `STABLE ${name}`),
      ...namesIn(beta).map((name) => `BETA ${name}`),
      ...namesIn(alpha).map((name) => `ALPHA ${name}`),
    ])
    .sort();
}

function registered(families: Readonly<Record<string, MetricFamily>>): string[] {
  return Object.entries(families)
    .filter(([, { gated }]) => gated !== true)
    .map(([name, { stability = 'ALPHA' }]) => `${stability} ${name}`)
    .sort();
}

describe('the families of each endpoint are those of the list, with their stability', () => {
  it('/metrics, /metrics/probes and /metrics/slis', () => {
    assert.deepEqual(registered(mainFamilies), listed('/metrics'));
    assert.deepEqual(registered(probeFamilies), listed('/metrics/probes'));
    assert.deepEqual(registered(sliFamilies), listed('/metrics/slis'));
  });

  it('/metrics/resource and /metrics/cadvisor', () => {
    assert.deepEqual(
      resourceFamilies.map(({ name, help }) => `${/^\[(\w+)\]/.exec(help)?.[1] ?? ''} ${name}`).sort(),
      listed('/metrics/resource'),
    );
    assert.deepEqual(cadvisorFamilyNames.map((name) => `ALPHA ${name}`).sort(), listed('/metrics/cadvisor'));
  });
});
