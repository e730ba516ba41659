import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterActs } from './cluster-acts.ts';
import { ClusterScenario } from './cluster-scenario.ts';

const SEEDS = Number(process.env['SIMULATION_CLUSTER_SEEDS'] ?? 30);
const FROM = Number(process.env['SIMULATION_FROM'] ?? 1);

describe('a node of a cluster through outages, storms, deletions, restarts, reboots, pressure, failing devices and shutdowns', () => {
  it(`tells its pods as they are, gives all back before they go, and starts nothing twice, with seeds ${FROM} to ${FROM + SEEDS - 1}`, async () => {
    for (let seed = FROM; seed < FROM + SEEDS; seed++) {
      const scenario = new ClusterScenario(seed, clusterActs);
      await scenario.run();
      const report = [
        `seed ${seed} broke:`,
        ...scenario.violations,
        'after:',
        ...scenario.trace.slice(-60),
        'log:',
        ...scenario.node.logs
          .slice(-25)
          .map(
            (line) =>
              `${(line.atMs / 1000).toFixed(3)} ${line.agent} ${line.level} ${line.message} ${JSON.stringify(line.fields)}`,
          ),
        `replay: SIMULATION_CLUSTER_SEEDS=1 SIMULATION_FROM=${seed} node --test test/simulation/cluster.test.ts`,
      ];
      assert.deepEqual([...scenario.violations, ...scenario.node.agentErrors], [], report.join('\n'));
    }
  });
});
