import assert from 'node:assert/strict';
import { it } from 'node:test';
import { persistentVolumeClaims, persistentVolumes } from '../../../api/client/resource-types.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createVolumeExpandController } from './volume-expand-controller.ts';

const data = { namespace: 'default', name: 'data' };
const sized = (size: string, capacity: string): PersistentVolumeClaim => ({
  metadata: { ...data, uid: 'c-1' },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: size } }, volumeName: 'v' },
  status: { phase: 'Bound', capacity: { storage: capacity } },
});

it('a bound claim that requests more than its capacity is reported once, others are not', async () => {
  const world = new ControllerWorld({ make: (each) => [createVolumeExpandController(each)] });
  world.api.seed(persistentVolumes, {
    metadata: { name: 'v', namespace: '', uid: 'v-1' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], claimRef: { ...data, uid: 'c-1' } },
  });
  world.api.seed(persistentVolumeClaims, sized('1Gi', '1Gi'));
  world.start();
  await world.run(1_000);
  assert.deepEqual(world.events, []);
  world.api.change(persistentVolumeClaims, data, () => sized('2Gi', '1Gi'));
  await world.run(1_000);
  assert.deepEqual(world.events, ['Normal ExternalExpanding waiting for an external controller to expand this PVC']);
  world.api.change(persistentVolumeClaims, data, (claim) => ({
    ...claim,
    status: { phase: 'Bound' as const, capacity: { storage: '2Gi' } },
  }));
  await world.run(1_000);
  assert.equal(world.events.length, 1);
  await world.stop();
});

it('a volume that is bound to another claim is not reported', async () => {
  const world = new ControllerWorld({ make: (each) => [createVolumeExpandController(each)] });
  world.api.seed(persistentVolumes, {
    metadata: { name: 'v', namespace: '', uid: 'v-1' },
    spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], claimRef: { ...data, uid: 'other' } },
  });
  world.api.seed(persistentVolumeClaims, sized('2Gi', '1Gi'));
  world.start();
  await world.run(1_000);
  assert.deepEqual(world.events, []);
  await world.stop();
});
