import assert from 'node:assert/strict';
import { it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { ReplicaSet } from '../../api/apps/replica-set.ts';
import { createInformers } from '../../api/client/informer.ts';
import { pods, replicaSets } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { createEventRecorder } from './event-recorder.ts';
import { Expectations } from './expectations.ts';
import { PodControl, podFromTemplate } from './pod-control.ts';
import { slowStart } from './slow-start.ts';

it('a large batch of pods is not written all at once', async () => {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const informers = createInformers({ client: api, clock, random: seededRandom(1), log: silentLogger });
  let underWay = 0;
  let most = 0;
  const counted = async <T>(call: Promise<T>): Promise<T> => {
    most = Math.max(most, ++underWay);
    try {
      return await call;
    } finally {
      underWay--;
    }
  };
  const client: FakeApiClient = Object.assign(Object.create(api) as FakeApiClient, {
    create: (...args: Parameters<FakeApiClient['create']>) => counted(api.create(...args)),
    delete: (...args: Parameters<FakeApiClient['delete']>) => counted(api.delete(...args)),
  });
  const template = { metadata: { labels: { app: 'web' } }, spec: buildPod().spec };
  const owner: ReplicaSet = {
    metadata: { namespace: 'default', name: 'web', uid: 'rs-1' },
    spec: { replicas: 500, selector: {}, template },
  };
  const control = new PodControl<ReplicaSet>({
    client,
    recorder: createEventRecorder({ client: api, clock, log: silentLogger, component: 'test' }),
    informer: informers.for(pods),
    expectations: new Expectations(clock),
    type: replicaSets,
  });
  const pod = podFromTemplate(replicaSets, owner, template);
  assert.deepEqual(await slowStart(500, 1, () => control.create('default/web', owner, pod)), { done: 500 });
  assert.deepEqual([most, api.all(pods).length], [32, 500]);
  most = 0;
  await Promise.all(api.all(pods).map((each) => control.delete('default/web', owner, each)));
  assert.equal(most, 32);
});
