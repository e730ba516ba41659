import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { secrets } from '../../api/client/resource-types.ts';
import { FakeApiClient } from '../../api/client/testing/fake-api-client.ts';
import type { Pod } from '../../api/core/pod.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import { ApiClusterObjects } from '../features/cluster-objects/api-cluster-objects.ts';
import { KeptObjects } from '../features/cluster-objects/kept-objects.ts';
import { suggestionObjects, outageFor } from '../features/explain/explain-facts.ts';

const showing = (name: string): Pod => buildPod({ 'spec.volumes': [{ name: 'v', secret: { secretName: name } }] });
const withToken = buildPod({
  'spec.volumes': [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'token' } }] } }],
});

async function setUp() {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const clusterObjects = new ApiClusterObjects({
    client: api,
    strategy: 'Watch',
    kept: new KeptObjects({ put: () => undefined, drop: () => undefined }),
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  api.seed(secrets, { metadata: { name: 'there', namespace: 'default', uid: '' } });
  clusterObjects.registerPod({ ...showing('there'), metadata: { ...showing('there').metadata, uid: 'a' } });
  clusterObjects.registerPod({ ...showing('missing'), metadata: { ...showing('missing').metadata, uid: 'b' } });
  await clock.settle();
  const outage = { sinceMs: 5, message: 'connect ECONNREFUSED' };
  const cluster = { outage: () => outage };
  const isAffected = (pod: Pod, waits = true): boolean =>
    outageFor(pod, { clusterObjects }, cluster, waits) !== undefined;
  return { clusterObjects, isAffected };
}

describe('what explain knows of the cluster', () => {
  it('tells missing objects from those of which nothing was heard', async () => {
    const { clusterObjects } = await setUp();
    const { objects, inCluster } = suggestionObjects({ clusterObjects, localObjects: undefined as never });
    const of = (name: string): unknown[] => [
      objects.get('Secret', 'default', name)?.metadata.name,
      objects.isUnknown?.('Secret', 'default', name),
    ];
    assert.deepEqual(
      [inCluster, of('there'), of('missing'), of('unheard')],
      [true, ['there', false], [undefined, false], [undefined, true]],
    );
  });

  it('names an outage for pods that wait for something only the API server knows', async () => {
    const { isAffected } = await setUp();
    assert.deepEqual(
      [
        isAffected(showing('there')),
        isAffected(showing('unheard')),
        isAffected(withToken),
        isAffected(withToken, false),
      ],
      [false, true, true, false],
    );
  });
});
