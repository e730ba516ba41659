import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { MOST_OPEN_PERCENT, openFaultOf } from './open-faults.ts';
import type { ScenarioResult } from './scenario.ts';
import { runScenario, smallScenario } from './scenario.ts';

const SEEDS = Number(process.env['SIMULATION_SEEDS'] ?? 500);
const FROM = Number(process.env['SIMULATION_FROM'] ?? 1);
const BATCH = 50;

/** What is needed to find the cause: what broke, what happened before, and how to see it again. */
function report(result: ScenarioResult): string {
  const broken = result.violations.map(
    ({ invariant, message, atMs }) => `  ${(atMs / 1000).toFixed(3)} ${invariant}: ${message}`,
  );
  const replay = `node test/simulation/main.ts --seed ${result.seed}`;
  return [
    `seed ${result.seed} broke:`,
    ...broken.slice(0, 10),
    'after:',
    ...result.trace.slice(-25).map((line) => `  ${line}`),
    'log:',
    ...result.logs.slice(-15).map((line) => `  ${line}`),
    `replay: ${replay}`,
  ].join('\n');
}

/** Fails for any violation that is not a known open fault; returns the open faults that were seen. */
export function judge(result: ScenarioResult): string[] {
  const faults = result.violations.map(openFaultOf);
  assert.ok(!faults.includes(undefined), report(result));
  return faults.flatMap((fault) => fault ?? []);
}

/**
 * Runs one part of the seeds, counted from 1. Each part has its own file, so that the parts run concurrently in
 * separate processes.
 */
export function describeSeeds(part: number, parts: number): void {
  const count = Math.ceil(SEEDS / parts);
  const first = FROM + (part - 1) * count;
  const end = Math.min(first + count, FROM + SEEDS);
  const open = new Map<string, Set<number>>();

  describe('the whole agent through random faults and restarts', () => {
    for (let from = first; from < end; from += BATCH) {
      const to = Math.min(from + BATCH, end) - 1;
      it(`keeps every invariant with seeds ${from} to ${to}`, async () => {
        for (let seed = from; seed <= to; seed++)
          for (const fault of judge(await runScenario(smallScenario(seed))))
            open.set(fault, (open.get(fault) ?? new Set()).add(seed));
      });
    }

    it('shows the faults that are known to be open (docs/faults.md) in few seeds only', (context) => {
      const seeds = end - first;
      for (const [fault, shown] of open)
        context.diagnostic(`open: ${fault}: ${shown.size} of ${seeds} seeds (${[...shown].slice(0, 5).join(', ')})`);
      const total = new Set([...open.values()].flatMap((shown) => [...shown])).size;
      assert.ok(total <= Math.max(3, (seeds * MOST_OPEN_PERCENT) / 100), `${total} of ${seeds} seeds show open faults`);
    });
  });
}
