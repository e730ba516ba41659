import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { runScenario, smallScenario } from './scenario.ts';
import { judge } from './seeds.ts';

describe('the simulation', () => {
  it('goes the same way again with the same seed, to the last call', async () => {
    const [first, second, other] = [
      await runScenario(smallScenario(3)),
      await runScenario(smallScenario(3)),
      await runScenario(smallScenario(4)),
    ];
    assert.equal(first.hash, second.hash);
    assert.notEqual(first.hash, other.hash);
  });

  it('holds with 200 pods through an hour of faults and restarts', async () => {
    judge(await runScenario({ seed: 1, pods: 200, durationMs: 3_600_000, pauseMs: 10_000 }));
  });
});
