import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { events, persistentVolumeClaims, persistentVolumes } from '../../../api/client/resource-types.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createVolumeExpandController } from './volume-expand-controller.ts';

const data = { namespace: 'default', name: 'data' };
const claimOf = (name: string, size: string, capacity: string): PersistentVolumeClaim => ({
  metadata: { namespace: 'default', name, uid: `uid-${name}` },
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: size } }, volumeName: `v-${name}` },
  status: { phase: 'Bound', capacity: { storage: capacity } },
});
const volumeOf = (name: string, uid = `uid-${name}`): PersistentVolume => ({
  metadata: { name: `v-${name}`, namespace: '', uid: `uid-v-${name}` },
  spec: {
    capacity: { storage: '1Gi' },
    accessModes: ['ReadWriteOnce'],
    claimRef: { namespace: 'default', name, uid },
  },
});

it('a bound claim that requests more than its capacity is reported once, others are not', async () => {
  const world = new ControllerWorld({ make: (each) => [createVolumeExpandController(each)] });
  world.api.seed(persistentVolumes, volumeOf('data'));
  world.api.seed(persistentVolumeClaims, claimOf('data', '1Gi', '1Gi'));
  world.start();
  await world.run(1_000);
  assert.deepEqual(world.events, []);
  world.api.change(persistentVolumeClaims, data, () => claimOf('data', '2Gi', '1Gi'));
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
  world.api.seed(persistentVolumes, volumeOf('data', 'other'));
  world.api.seed(persistentVolumeClaims, claimOf('data', '2Gi', '1Gi'));
  world.start();
  await world.run(1_000);
  assert.deepEqual(world.events, []);
  await world.stop();
});

it('reports exactly the claims that wait for more, killed at any write and with late events', () => {
  const step = fc.record({
    name: fc.constantFrom('a', 'b', 'c'),
    grows: fc.boolean(),
    granted: fc.boolean(),
    writes: fc.integer({ min: 1, max: 3 }),
  });
  return fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), fc.nat(1_000), async (steps, seed) => {
      const world = new ControllerWorld({
        make: (each) => [createVolumeExpandController(each)],
        seed,
        lagMs: 600,
      });
      const waited = new Set<string>();
      world.start();
      for (const { name, grows, granted, writes } of steps) {
        const key = { namespace: 'default', name };
        world.restartAtWrite(writes);
        if (world.api.peek(persistentVolumeClaims, key) === undefined) {
          // The claim may be shown before its volume.
          world.api.seed(persistentVolumeClaims, claimOf(name, grows ? '2Gi' : '1Gi', '1Gi'));
          world.api.seed(persistentVolumes, volumeOf(name));
        } else if (granted)
          world.api.change(persistentVolumeClaims, key, ({ spec }) =>
            claimOf(name, spec.resources?.requests?.['storage'] ?? '', spec.resources?.requests?.['storage'] ?? ''),
          );
        else if (grows)
          world.api.change(persistentVolumeClaims, key, ({ status }) =>
            claimOf(name, '3Gi', status?.capacity?.['storage'] ?? ''),
          );
        // Long enough for late events and retries, so that no waiting claim is granted unseen.
        await world.clock.advance(10_000);
        const claim = world.api.peek(persistentVolumeClaims, key);
        if (claim?.spec.resources?.requests?.['storage'] !== claim?.status?.capacity?.['storage']) waited.add(name);
      }
      const reported = new Set(world.api.all(events).map(({ involvedObject }) => involvedObject.name));
      assert.deepEqual([...reported].sort(), [...waited].sort());
      await world.stop();
    }),
    { numRuns: 30 },
  );
});
