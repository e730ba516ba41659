import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { events } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Event } from '../../../api/core/event.ts';
import { makeEvent } from '../../../api/make-event.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { EventUploader } from './event-uploader.ts';

const away = new ApiStatusError('ServiceUnavailable', 'connect ECONNREFUSED');

function setUp() {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const uploader = new EventUploader({ client: api, clock, random: seededRandom(1), log: recordingLog() });
  let serial = 0;
  const said = (name: string, type: 'Normal' | 'Warning' = 'Normal', count = 1): Event => ({
    ...makeEvent(
      { kind: 'Pod', namespace: 'default', name, uid: name, apiVersion: 'v1' },
      { type, reason: 'BackOff', message: 'restarting' },
      { nowMs: 0, serial: serial++, component: 'kubelet', host: 'node-1' },
    ),
    metadata: { name: `${name}.1`, namespace: 'default', uid: '' },
    count,
  });
  const stored = (): string[] => api.all(events).map(({ metadata, count }) => `${metadata.name} ${count ?? 0}`);
  return { clock, api, uploader, said, stored };
}

describe('events on their way to the API server', () => {
  it('events are created, and patched when they are repeated', async () => {
    const { api, clock, uploader, said } = setUp();
    uploader.put('a', said('a'));
    await clock.settle();
    uploader.put('a', said('a', 'Normal', 2));
    await clock.settle();
    assert.deepEqual(api.writes, ['create events default/a.1', 'patch events default/a.1']);
    assert.deepEqual(api.calls.at(-1)?.body, {
      count: 2,
      lastTimestamp: '1970-01-01T00:00:00Z',
      message: 'restarting',
    });
  });

  it('events are created again when they have expired at the API server', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    uploader.put('a', said('a'));
    await clock.settle();
    await api.delete(events, { namespace: 'default', name: 'a.1' });
    uploader.put('a', said('a', 'Normal', 7));
    await clock.settle();
    assert.deepEqual(stored(), ['a.1 7']);
  });

  it('events continue at once when the server is available again', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    const outage = api.script(() => away);
    uploader.put('a', said('a'));
    await clock.advance(60_000);
    outage();
    uploader.retryNow();
    await clock.settle();
    assert.deepEqual([stored(), clock.armedTimers], [['a.1 1'], 0]);
  });

  it('events of a boot are not too old when the wall clock is corrected', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    const outage = api.script(() => away);
    uploader.put('a', said('a'));
    await clock.settle();
    clock.stepWall(50 * 365 * 24 * 3_600_000);
    outage();
    await clock.advance(20_000);
    assert.deepEqual(stored(), ['a.1 1']);
  });

  it('events wait for an unavailable server, and are written once each, with their newest count', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    const outage = api.script(() => away);
    uploader.put('a', said('a'));
    uploader.put('b', said('b'));
    await clock.advance(60_000);
    uploader.put('a', said('a', 'Normal', 9));
    outage();
    await clock.advance(20_000);
    assert.deepEqual([stored().sort(), uploader.waiting], [['a.1 9', 'b.1 1'], 0]);
  });

  it('events that are many come slowly after an outage, and not at all when they are older than an hour', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    const outage = api.script(() => away);
    uploader.put('old', said('old'));
    await clock.advance(3_500_000);
    for (let index = 0; index < 100; index++) uploader.put(`p${index}`, said(`p${index}`));
    await clock.advance(200_000);
    outage();
    while (stored().length === 0) await clock.advance(50);
    await clock.advance(1_000);
    assert.ok(stored().length < 30);
    await clock.advance(10_000);
    assert.deepEqual([stored().includes('old.1 1'), stored().length, uploader.waiting], [false, 100, 0]);
  });

  it('events that are few are sent at once after an outage, as those of starting pods wait behind them', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    const outage = api.script(() => away);
    for (let index = 0; index < 20; index++) uploader.put(`p${index}`, said(`p${index}`));
    outage();
    while (stored().length === 0) await clock.advance(50);
    await clock.settle();
    assert.equal(stored().length, 20);
  });

  it('events that are too many are dropped, the oldest that is no warning first', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    const outage = api.script(() => away);
    uploader.put('warning', said('warning', 'Warning'));
    for (let index = 0; index < 1_005; index++) uploader.put(`p${index}`, said(`p${index}`));
    assert.equal(uploader.waiting, 1_000);
    outage();
    await clock.advance(120_000);
    const all = stored();
    assert.deepEqual(
      [all.includes('warning.1 1'), all.includes('p5.1 1'), all.includes('p1004.1 1')],
      [true, false, true],
    );
  });

  it('events that are refused are not retried and delay no others', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    api.fail(
      'create',
      'events',
      new ApiStatusError(
        'Forbidden',
        'unable to create new content in namespace default because it is being terminated',
      ),
    );
    uploader.put('a', said('a'));
    uploader.put('b', said('b'));
    await clock.settle();
    assert.deepEqual([stored(), uploader.waiting], [['b.1 1'], 0]);
  });

  it('events on which the server fails are given up after a dozen tries', async () => {
    const { api, clock, uploader, said, stored } = setUp();
    api.script(({ key }) => (key === 'default/a.1' ? new ApiStatusError('InternalError', 'webhook') : undefined));
    uploader.put('a', said('a'));
    uploader.put('b', said('b'));
    await clock.advance(180_000);
    assert.deepEqual([stored(), api.calls.filter(({ key }) => key === 'default/a.1').length], [['b.1 1'], 12]);
  });

  it('events stay unsent when the agent stops', async () => {
    const { api, clock, uploader, said } = setUp();
    api.script(() => away);
    uploader.put('a', said('a'));
    await clock.settle();
    const stopped = uploader.stop();
    await clock.settle();
    await stopped;
    assert.equal(clock.armedTimers, 0);
  });
});
