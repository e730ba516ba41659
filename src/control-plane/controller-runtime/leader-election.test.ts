import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { leases } from '../../api/client/resource-types.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { createLeaderElection } from './leader-election.ts';
import type { LeadingPart } from './leader-election.ts';

interface Candidate {
  readonly election: LeadingPart;
  leading: boolean;
  terms: number;
}

function candidate(client: FakeApiClient, clock: FakeClock, identity: string): Candidate {
  const state: Candidate = { leading: false, terms: 0, election: undefined as never };
  const create = (): LeadingPart => ({
    start: () => {
      state.leading = true;
      state.terms++;
    },
    stop: async () => {
      state.leading = false;
    },
  });
  return Object.assign(state, {
    election: createLeaderElection({
      client,
      clock,
      random: seededRandom(1),
      log: recordingLog(),
      name: 'test',
      identity,
      create,
    }),
  });
}

const world = (): { clock: FakeClock; client: FakeApiClient } => {
  const clock = new FakeClock();
  return { clock, client: new FakeApiClient({ clock }) };
};

test('of two that ask one leads, and goes on leading', async () => {
  const { clock, client } = world();
  const [one, two] = [candidate(client, clock, 'one'), candidate(client, clock, 'two')];
  one.election.start();
  await clock.advance(100);
  two.election.start();
  await clock.advance(120_000);
  assert.deepEqual([one.leading, two.leading, one.terms], [true, false, 1]);
  await Promise.all([one.election.stop(), two.election.stop()]);
});

test('who stops in order gives the lease back, and the other leads within a few seconds', async () => {
  const { clock, client } = world();
  const [one, two] = [candidate(client, clock, 'one'), candidate(client, clock, 'two')];
  one.election.start();
  await clock.advance(100);
  two.election.start();
  await clock.advance(5000);
  await one.election.stop();
  assert.equal(one.leading, false);
  await clock.advance(5000);
  assert.equal(two.leading, true);
  assert.equal((await client.get(leases, { namespace: 'kube-system', name: 'test' })).spec?.leaseTransitions, 1);
  await two.election.stop();
});

test('who cannot renew stops before the other may begin', async () => {
  const { clock, client } = world();
  const one = candidate(client, clock, 'one');
  one.election.start();
  await clock.advance(100);
  assert.equal(one.leading, true);
  client.fail('get', 'leases', new ApiStatusError('ServiceUnavailable', 'cut off'), 100);
  await clock.advance(6000);
  assert.equal(one.leading, true);
  await clock.advance(7000);
  assert.equal(one.leading, false);
  await one.election.stop();
});

test('a holder that says nothing more is waited for as long as its lease lasts, whatever its clock says', async () => {
  const { clock, client } = world();
  await client.create(leases, {
    metadata: { name: 'test', namespace: 'kube-system', uid: '' },
    spec: { holderIdentity: 'gone', leaseDurationSeconds: 15, renewTime: '2001-01-01T00:00:00.000000Z' },
  });
  const two = candidate(client, clock, 'two');
  two.election.start();
  await clock.advance(13_000);
  assert.equal(two.leading, false);
  await clock.advance(5000);
  assert.equal(two.leading, true);
  await two.election.stop();
});
