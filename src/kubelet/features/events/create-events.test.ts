import assert from 'node:assert/strict';
import { test } from 'node:test';
import { events } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createEvents } from './create-events.ts';

function fixture() {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const timeline = { record: () => undefined };
  const parts = { timeline, nodeName: 'node-1', clock, random: seededRandom(1), log: silentLogger };
  return { clock, api, parts };
}

test('events of a node of a cluster reach its API server', async () => {
  const { clock, api, parts } = fixture();
  const { recorder, eventUploader } = createEvents({ ...parts, client: api });
  recorder.event(buildPod(), 'Normal', 'Started', 'started');
  await clock.settle();
  assert.deepEqual(
    api.all(events).map(({ reason }) => reason),
    ['Started'],
  );
  await eventUploader?.stop();
});

test('events of a standalone node stay on it', () => {
  const { parts } = fixture();
  const { recorder, eventUploader } = createEvents({ ...parts, client: undefined });
  recorder.event(buildPod(), 'Normal', 'Started', 'started');
  assert.equal(eventUploader, undefined);
  assert.deepEqual(
    recorder.list().map(({ reason }) => reason),
    ['Started'],
  );
});
