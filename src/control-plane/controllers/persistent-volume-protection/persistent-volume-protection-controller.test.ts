import assert from 'node:assert/strict';
import { it } from 'node:test';
import { persistentVolumes } from '../../../api/client/resource-types.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createVolumeProtectionController } from './persistent-volume-protection-controller.ts';

it('a bound volume stays until it is released', async () => {
  const key = { namespace: '', name: 'v' };
  const world = new ControllerWorld({ make: (options) => [createVolumeProtectionController(options)] });
  world.api.seed(persistentVolumes, { metadata: { ...key, uid: 'v' }, spec: {}, status: { phase: 'Bound' } });
  world.start();
  await world.clock.advance(1_000);
  assert.deepEqual(world.api.peek(persistentVolumes, key)?.metadata.finalizers, ['kubernetes.io/pv-protection']);
  await world.api.delete(persistentVolumes, key);
  await world.clock.advance(60_000);
  assert.deepEqual(world.api.writes.length, 2);
  world.api.change(persistentVolumes, key, (volume) => ({ ...volume, status: { phase: 'Released' as const } }));
  await world.clock.advance(1_000);
  assert.equal(world.api.peek(persistentVolumes, key), undefined);
  await world.stop();
});
