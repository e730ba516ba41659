import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { leases } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Lease } from '../../../api/coordination/lease.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import type { RecordingLog } from '../../../base/testing/recording-log.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { NodeLease } from './node-lease.ts';

const key = { namespace: 'kube-node-lease', name: 'n1' };
const DAY_MS = 86_400_000;

interface Bench {
  readonly clock: FakeClock;
  readonly api: FakeApiClient;
  readonly lease: NodeLease;
  readonly log: RecordingLog;
  /** Whether the API server was reached, for each notification. */
  readonly reached: boolean[];
  /** Replaces the node by another one, or removes it. */
  be(uid: string | undefined): void;
  now(): Lease | undefined;
}

function bench(firstUid = 'u1'): Bench {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const log = recordingLog();
  let uid: string | undefined = firstUid;
  const made: Bench = {
    clock,
    api,
    log,
    reached: [],
    lease: new NodeLease({
      client: api,
      nodeName: 'n1',
      nodeUid: () => uid,
      durationMs: 40_000,
      onReach: (isReached) => void made.reached.push(isReached),
      clock,
      random: seededRandom(1),
      log,
    }),
    be: (next) => {
      uid = next;
      made.lease.nodeIs(next ?? '');
    },
    now: () => api.peek(leases, key),
  };
  made.lease.start();
  return made;
}

describe('the node lease', () => {
  it('is created with the node as its owner, and renewed every quarter of its time from its last written state', async () => {
    const { clock, api, lease, now } = bench();
    await clock.settle();
    assert.deepEqual(now()?.spec, {
      holderIdentity: 'n1',
      leaseDurationSeconds: 40,
      renewTime: '2026-01-01T00:00:00.000000Z',
    });
    assert.deepEqual(now()?.metadata.ownerReferences, [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'u1' }]);
    await clock.advance(60_000);
    assert.deepEqual(
      api.calls.map(({ verb }) => verb),
      ['get', 'create', 'update', 'update', 'update', 'update', 'update'],
    );
    await lease.stop();
    await clock.advance(60_000);
    assert.equal(api.calls.length, 7);
  });

  it('waits for the node that owns it, and is created as soon as that exists', async () => {
    const { clock, api, lease, now, be } = bench('');
    be(undefined);
    await clock.advance(30_000);
    assert.deepEqual(api.writes, []);
    be('u1');
    await clock.settle();
    assert.equal(now()?.metadata.ownerReferences?.[0]?.uid, 'u1');
    await lease.stop();
  });

  it('belongs to a recreated node at once, and is created again when it was removed with the old one', async () => {
    const { clock, api, lease, now, be } = bench();
    await clock.settle();
    be('u2');
    await clock.settle();
    assert.equal(now()?.metadata.ownerReferences?.[0]?.uid, 'u2');
    api.remove(leases, key);
    await clock.advance(11_000);
    assert.equal(now()?.metadata.ownerReferences?.[0]?.uid, 'u2');
    await lease.stop();
  });

  it('is adopted from an earlier run of the agent, with what others added', async () => {
    const { clock, api, lease, now } = bench();
    api.seed(leases, {
      metadata: { name: 'n1', namespace: key.namespace, uid: '', labels: { a: 'b' } },
      spec: { holderIdentity: 'n1', leaseDurationSeconds: 10, leaseTransitions: 3 },
    });
    await clock.settle();
    assert.deepEqual(
      [
        now()?.spec.leaseDurationSeconds,
        now()?.spec.leaseTransitions,
        now()?.metadata.labels,
        now()?.metadata.ownerReferences?.length,
      ],
      [40, 3, { a: 'b' }, 1],
    );
    await lease.stop();
  });

  it('is read again after a conflict, at once', async () => {
    const { clock, api, lease, now } = bench();
    await clock.settle();
    api.change(leases, key, (found) => ({ ...found, spec: { ...found.spec, strategy: 'x' } }));
    await clock.advance(10_500);
    assert.deepEqual(
      api.calls.slice(-3).map(({ verb }) => verb),
      ['update', 'get', 'update'],
    );
    assert.deepEqual([now()?.spec.strategy, now()?.spec.renewTime?.slice(0, 18)], ['x', '2026-01-01T00:00:1']);
    await lease.stop();
  });

  it('is renewed within 7 s after an outage and reports it; an outage of days costs one line and one timer', async () => {
    const made = bench();
    const { clock, api, lease, log, now } = made;
    await clock.settle();
    const end = api.script(() => new ApiStatusError('ServiceUnavailable', 'away'));
    await clock.advance(DAY_MS / 4);
    assert.deepEqual([clock.armedTimers, log.lines.filter(({ level }) => level === 'error').length], [1, 1]);
    assert.ok(made.reached.length > 1000 && made.reached.every((isReached) => !isReached));
    made.reached.length = 0;
    end();
    const before = now()?.spec.renewTime;
    assert.equal(await clock.advanceUntil(() => now()?.spec.renewTime !== before, 7500), true);
    assert.deepEqual(made.reached, [true]);
    await lease.stop();
  });

  it('does not treat a refusal as an outage', async () => {
    const made = bench();
    made.api.script(() => new ApiStatusError('Forbidden', 'no'));
    await made.clock.advance(60_000);
    assert.deepEqual(made.reached, []);
    await made.lease.stop();
  });

  it('is renewed at its interval when the wall clock is stepped', async () => {
    const { clock, api, lease, now } = bench();
    await clock.settle();
    clock.stepWall(-40 * 365 * DAY_MS);
    await clock.advance(21_000);
    assert.deepEqual([api.calls.length, now()?.spec.renewTime?.slice(0, 3)], [4, '198']);
    await lease.stop();
  });
});
