import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PressureScenario } from './pressure.ts';

const SEEDS = Number(process.env['SIMULATION_PRESSURE_SEEDS'] ?? 10);
const FROM = Number(process.env['SIMULATION_FROM'] ?? 1);

test('a node that runs short evicts one pod at a time, never a critical one, only for a reason, and does not flap', async () => {
  let evictions = 0;
  for (let seed = FROM; seed < FROM + SEEDS; seed++) {
    const scenario = new PressureScenario(seed);
    await scenario.run(60);
    evictions += scenario.invariants.evictedMs.size;
    const report = [
      `seed ${seed} broke:`,
      ...scenario.violations.slice(0, 20),
      'after:',
      ...scenario.trace.slice(-40),
      `replay: SIMULATION_PRESSURE_SEEDS=1 SIMULATION_FROM=${seed} node --test test/simulation/pressure.test.ts`,
    ];
    assert.deepEqual([...scenario.violations, ...scenario.node.agentErrors], [], report.join('\n'));
  }
  assert.ok(evictions > SEEDS, `${evictions} evictions`);
});
