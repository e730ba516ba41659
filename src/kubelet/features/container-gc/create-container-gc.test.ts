import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { podUid } from '../../model/ids.ts';
import { decideCleanup, createContainerGc } from './create-container-gc.ts';

test('of a pod that has ended everything counts as unused, unless its worker is at work', async () => {
  const ended = { id: 'c', podUid: podUid('a'), name: 'c', attempt: 0, sandboxId: 's', state: 'exited' as const };
  const unused = async (state: { phase: string; isBusy?: boolean } | undefined): Promise<number> => {
    const clock = new FakeClock();
    const gc = createContainerGc({
      workers: () => ({ stateOf: () => state, isBusy: () => state?.isBusy === true }),
      runtime: { listContainers: async () => [{ ...ended, createdAtMs: 0 }], listSandboxes: async () => [] },
      policy: { minAgeMs: 0, maxPerContainer: 1, maxTotal: -1 },
      sourcesReady: () => true,
      ...{ clock, random: seededRandom(1), log: recordingLog() },
    } as unknown as Parameters<typeof createContainerGc>[0]);
    return gc.countUnused();
  };
  assert.deepEqual(
    await Promise.all([
      unused({ phase: 'finished' }),
      unused({ phase: 'finished', isBusy: true }),
      unused({ phase: 'syncing' }),
      unused(undefined),
    ]),
    [1, 0, 0, 1],
  );
});

const decide = (state: { phase: string; isBusy?: boolean } | undefined): string =>
  decideCleanup({ stateOf: () => state, isBusy: () => state?.isBusy === true }, podUid('a'));

test('the remains of a pod without a worker go, those of a pod that is being worked on are left alone', () => {
  assert.equal(decide(undefined), 'removed');
  assert.equal(decide({ phase: 'syncing' }), 'kept');
  assert.equal(decide({ phase: 'finished' }), 'kept');
  assert.equal(decide({ phase: 'syncing', isBusy: true }), 'busy');
  assert.equal(decide({ phase: 'terminating' }), 'busy', 'between two attempts to stop it');
});
