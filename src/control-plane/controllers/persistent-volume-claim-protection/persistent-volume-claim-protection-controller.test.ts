import assert from 'node:assert/strict';
import { it } from 'node:test';
import { persistentVolumeClaims, pods } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createClaimProtectionController, usesClaim } from './persistent-volume-claim-protection-controller.ts';

const key = { namespace: 'default', name: 'data' };
const claim: PersistentVolumeClaim = { metadata: { ...key, uid: 'c' }, spec: {} };
const user = { 'spec.volumes': [{ name: 'd', persistentVolumeClaim: { claimName: 'data' } }] };

async function setUp(): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createClaimProtectionController(options)] });
  world.api.seed(persistentVolumeClaims, claim);
  world.start();
  await world.clock.advance(1_000);
  return world;
}
const finalizers = (world: ControllerWorld): unknown =>
  world.api.peek(persistentVolumeClaims, key)?.metadata.finalizers;

it('protects every claim, and releases it when it is deleted and unused', async () => {
  const world = await setUp();
  assert.deepEqual(finalizers(world), ['kubernetes.io/pvc-protection']);
  await world.api.delete(persistentVolumeClaims, key);
  await world.clock.advance(1_000);
  assert.equal(world.api.peek(persistentVolumeClaims, key), undefined);
  await world.stop();
});

it('a claim that a pod on a node uses is deleted after the pod, even if the cache has not seen the pod', async () => {
  for (const mute of [false, true]) {
    const world = await setUp();
    if (mute) world.api.endWatches(undefined, 'pods');
    world.api.seed(pods, buildPod({ ...user, 'spec.nodeName': 'n' }));
    await world.api.delete(persistentVolumeClaims, key);
    await world.clock.advance(5_000);
    assert.deepEqual(finalizers(world), ['kubernetes.io/pvc-protection']);
    world.api.remove(pods, { namespace: 'default', name: 'web' });
    await world.clock.advance(60_000);
    assert.equal(world.api.peek(persistentVolumeClaims, key), undefined);
    await world.stop();
  }
});

it('an unscheduled pod does not use a claim, and an ephemeral claim is released when its pod has ended', () => {
  assert.equal(usesClaim(buildPod(user), claim), false);
  const own = {
    ...claim,
    metadata: {
      namespace: 'default',
      name: 'web-d',
      uid: 'c',
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'uid-1', controller: true }],
    },
  };
  const ephemeral = {
    'spec.nodeName': 'n',
    'spec.volumes': [{ name: 'd', ephemeral: { volumeClaimTemplate: { spec: {} } } }],
  };
  assert.equal(usesClaim(buildPod(ephemeral), own), true);
  assert.equal(usesClaim(buildPod({ ...ephemeral, 'metadata.uid': 'another' }), own), false);
  assert.equal(
    usesClaim(
      buildPod({
        ...ephemeral,
        'metadata.deletionTimestamp': '2026-01-01T00:00:00Z',
        'metadata.deletionGracePeriodSeconds': 0,
      }),
      own,
    ),
    false,
  );
});
