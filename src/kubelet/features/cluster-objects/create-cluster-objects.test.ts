import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { secrets } from '../../../api/client/resource-types.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { createClusterObjects } from './create-cluster-objects.ts';

const pod = buildPod({ 'spec.volumes': [{ name: 'v', secret: { secretName: 'key' } }] });

function fixture(inCluster: boolean) {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const unregistered: string[] = [];
  const parts = createClusterObjects({
    client: inCluster ? api : undefined,
    strategy: 'Watch',
    kept: undefined,
    onUnregistered: (uid) => void unregistered.push(uid),
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  return { clock, api, unregistered, ...parts };
}

test('the objects of a pod are known from its registration on, and its end is passed on', async () => {
  const { clock, api, clusterObjects, podObjects, unregistered } = fixture(true);
  api.seed(secrets, { metadata: { name: 'key', namespace: 'default', uid: '' } });
  podObjects.registerPod(pod);
  await clock.settle();
  assert.equal(clusterObjects?.peek('Secret', 'default', 'key').known, true);
  assert.deepEqual(unregistered, []);
  podObjects.unregisterPod(pod);
  assert.deepEqual(unregistered, [pod.metadata.uid]);
  assert.equal(clusterObjects.peek('Secret', 'default', 'key').known, false);
});

test('a standalone node asks no API server', () => {
  const { clusterObjects, podObjects, unregistered } = fixture(false);
  podObjects.registerPod(pod);
  podObjects.unregisterPod(pod);
  assert.deepEqual([clusterObjects, unregistered], [undefined, []]);
});
