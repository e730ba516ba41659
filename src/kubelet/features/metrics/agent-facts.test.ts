import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setAgentFacts } from './agent-facts.ts';
import { createAgentMetrics } from './agent-metrics.ts';

const scrape = (isRuntimeOutdated: boolean): Promise<string> => {
  const metrics = createAgentMetrics();
  setAgentFacts(metrics, { nodeName: 'n', cgroupVersion: 2, isRuntimeOutdated, build: {}, gates: [] });
  return metrics.main.text();
};

describe('figures that do not change', () => {
  it('name the version that an outdated runtime will not work with', async () => {
    assert.match(await scrape(true), /^kubelet_cri_losing_support\{version="1\.37\.0"\} 1$/m);
  });

  it('have no such version for a current runtime', async () => {
    assert.doesNotMatch(await scrape(false), /^kubelet_cri_losing_support\{/m);
  });
});
