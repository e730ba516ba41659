import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { computeStartupSeconds, NodeStartup } from './node-startup.ts';

describe('the start time of a node', () => {
  it('is measured once, from the boot to the first time it was ready', async () => {
    const clock = new FakeClock();
    const startup = new NodeStartup(clock);
    const bootedAtMs = clock.nowMs() - 20_000;
    const durations = (): string[] =>
      computeStartupSeconds(startup.times, bootedAtMs).map(
        ({ name, seconds }) => `${name.replace(/^kubelet_node_startup_|_?duration_seconds$/g, '')} ${seconds}`,
      );
    for (const step of ['attempted', 'registeredNew', 'ready', 'attempted', 'registeredNew', 'ready'] as const) {
      await clock.advance(1000);
      startup[step]();
      if (step === 'attempted') assert.equal(durations().length % 5, 0);
    }
    assert.deepEqual(durations(), [
      'pre_kubelet 20',
      'pre_registration 1',
      'registration 1',
      'post_registration 1',
      ' 23',
    ]);
    assert.deepEqual(computeStartupSeconds(startup.times, undefined).length, 3);
  });

  it('is not reported for a node that existed before', () => {
    const startup = new NodeStartup(new FakeClock());
    startup.attempted();
    startup.ready();
    assert.deepEqual(computeStartupSeconds(startup.times, 0), []);
  });
});
