import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { secrets } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import type { Secret } from '../../../api/core/secret.ts';
import { dayOf } from '../../../api/legacy-token.ts';
import { createUseRecorder } from './record-use.ts';

it('labels a Secret with the date of its use, at most once a day', async () => {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const key = { namespace: 'default', name: 'robot-token' };
  api.seed(secrets, { metadata: { ...key, uid: 'u' } });
  const record = createUseRecorder({ client: () => api, clock, log: silentLogger });
  const used = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time++) record(api.peek(secrets, key) as Secret);
    await clock.settle();
  };
  await used(3);
  await used(3);
  assert.equal(api.calls.filter(({ verb }) => verb === 'patch').length, 1);
  assert.deepEqual(api.peek(secrets, key)?.metadata.labels, {
    'kubernetes.io/legacy-token-last-used': dayOf(clock.nowMs()),
  });
  await clock.advance(86_400_000);
  await used(2);
  assert.equal(api.calls.filter(({ verb }) => verb === 'patch').length, 2);
});
