import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { leases } from '../../api/client/resource-types.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { recordingLog } from '../../base/testing/recording-log.ts';
import { createLeaderElection } from './leader-election.ts';
import type { LeadingPart, WonLease } from './leader-election.ts';

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

test('a part that learns that another one leads is stopped at once, and created again if the lease is still ours', async () => {
  const { clock, client } = world();
  const log: string[] = [];
  const won: WonLease[] = [];
  const election = createLeaderElection({
    ...{ client, clock, random: seededRandom(1), log: recordingLog(), name: 'test', identity: 'one' },
    create: (each) => {
      won.push(each);
      const term = won.length;
      return { start: () => void log.push(`start ${term}`), stop: async () => void log.push(`stop ${term}`) };
    },
  });
  election.start();
  await clock.advance(100);
  won[0]?.onOver();
  await clock.advance(10);
  assert.deepEqual(log, ['start 1', 'stop 1', 'start 2']);
  const versions = won.map(({ lease }) => Number(lease.metadata.resourceVersion));
  assert.ok((versions[0] ?? 0) < (versions[1] ?? 0), 'each begins with the lease as it was written last');
  await election.stop();
});

test('a part that cannot start is stopped, and another one is created by the next pass', async () => {
  const { clock, client } = world();
  const log: string[] = [];
  let parts = 0;
  const election = createLeaderElection({
    ...{ client, clock, random: seededRandom(1), log: recordingLog(), name: 'test', identity: 'one' },
    create: () => {
      const name = `${(parts += 1)}`;
      const start = async (): Promise<void> => {
        log.push(`start ${name}`);
        if (name === '1') throw new Error('the store is away');
      };
      return { start, stop: async () => void log.push(`stop ${name}`) };
    },
  });
  election.start();
  await clock.advance(3000);
  assert.deepEqual(log, ['start 1', 'stop 1', 'start 2']);
  await election.stop();
});
