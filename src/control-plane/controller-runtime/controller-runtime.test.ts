import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { events, pods } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { createEventRecorder } from './event-recorder.ts';
import { Expectations } from './expectations.ts';
import { slowStart } from './slow-start.ts';

it('what was done is waited for until it was seen, by uid, five minutes at most', async () => {
  const clock = new FakeClock();
  const expectations = new Expectations(clock);
  assert.equal(expectations.waitMs('a'), 0);
  expectations.expect('a', 'created', 'u1');
  expectations.expect('a', 'deleted', 'u2');
  expectations.observe('created', 'u2');
  expectations.observe('created', 'foreign');
  assert.equal(expectations.waitMs('a'), 300_000);
  expectations.observe('created', 'u1');
  assert.ok(expectations.waitMs('a') > 0);
  expectations.observe('deleted', 'u2');
  assert.equal(expectations.waitMs('a'), 0);
  expectations.expect('a', 'created', 'u3');
  await clock.advance(299_999);
  assert.equal(expectations.waitMs('a'), 1);
  await clock.advance(1);
  assert.equal(expectations.waitMs('a'), 0);
  expectations.expect('b', 'created', 'u4');
  expectations.forget('b');
  assert.equal(expectations.waitMs('b'), 0);
});

it('batches double while all goes well, and end with the one in which something failed', async () => {
  const sizes: number[] = [];
  let inBatch = 0;
  const work = async (failAt: number, index: number): Promise<void> => {
    inBatch++;
    await Promise.resolve();
    if (inBatch > 0) sizes.push(inBatch);
    inBatch = 0;
    if (index === failAt) throw new Error('no');
  };
  assert.deepEqual(await slowStart(12, 1, (index) => work(-1, index)), { done: 12 });
  assert.deepEqual(sizes, [1, 2, 4, 5]);
  const { done, error } = await slowStart(100, 1, (index) => work(2, index));
  assert.deepEqual([done, (error as Error).message], [2, 'no']);
  assert.deepEqual(await slowStart(0, 1, () => Promise.reject(new Error('never'))), { done: 0 });
});

it('events are made once and then counted; one that has ended is created again; one that cannot be written is dropped after a few attempts', async () => {
  const clock = new FakeClock();
  const client = new FakeApiClient({ clock });
  const recorder = createEventRecorder({ client, clock, log: silentLogger, component: 'test-controller' });
  const said = { type: 'Normal', reason: 'Made', message: 'made it' } as const;
  recorder.event(pods, buildPod(), said);
  await clock.advance(5_000);
  recorder.event(pods, buildPod(), said);
  await recorder.flushed();
  const [event] = client.all(events);
  assert.deepEqual(
    [event?.count, event?.source, event?.reportingComponent, event?.involvedObject.kind, event?.lastTimestamp],
    [2, { component: 'test-controller' }, 'test-controller', 'Pod', '2026-01-01T00:00:05Z'],
  );
  client.remove(events, { namespace: 'default', name: event?.metadata.name ?? '' });
  recorder.event(pods, buildPod(), said);
  await recorder.flushed();
  assert.equal(client.all(events)[0]?.count, 3);
  client.fail('create', 'events', new ApiStatusError('ServiceUnavailable', 'down'), 3);
  recorder.event(pods, buildPod(), { ...said, reason: 'Lost' });
  recorder.event(pods, buildPod(), { ...said, reason: 'Kept' });
  await clock.advance(10_000);
  await recorder.flushed();
  assert.deepEqual(
    client
      .all(events)
      .map(({ reason }) => reason)
      .toSorted(),
    ['Kept', 'Made'],
  );
});
