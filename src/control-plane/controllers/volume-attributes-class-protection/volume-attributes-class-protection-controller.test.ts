import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { persistentVolumeClaims, volumeAttributesClasses } from '../../../api/client/resource-types.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createAttributesClassProtectionController } from './volume-attributes-class-protection-controller.ts';

const fast = { namespace: '', name: 'fast' };
const data = { namespace: 'default', name: 'data' };

it('despite crashes, a class stays exactly while a claim or volume uses it', () =>
  fc.assert(
    fc.asyncProperty(
      fc.constantFrom('spec', 'current', 'target', 'none'),
      fc.integer({ min: 1, max: 3 }),
      fc.nat(1_000),
      async (use, writes, seed) => {
        const world = new ControllerWorld({
          make: (each) => [createAttributesClassProtectionController(each)],
          seed,
          lagMs: 600,
        });
        world.api.seed(volumeAttributesClasses, {
          metadata: { ...fast, uid: 'v' },
          driverName: 'd',
          parameters: { a: 'b' },
        });
        world.api.seed(persistentVolumeClaims, {
          metadata: { ...data, uid: 'c' },
          spec: { ...(use === 'spec' && { volumeAttributesClassName: 'fast' }) },
          status: {
            ...(use === 'current' && { currentVolumeAttributesClassName: 'fast' }),
            ...(use === 'target' && {
              modifyVolumeStatus: { status: 'InProgress' as const, targetVolumeAttributesClassName: 'fast' },
            }),
          },
        });
        world.start();
        world.restartAtWrite(writes);
        await world.run(3_000);
        assert.deepEqual(world.api.peek(volumeAttributesClasses, fast)?.metadata.finalizers, [
          'kubernetes.io/vac-protection',
        ]);
        await world.api.delete(volumeAttributesClasses, fast);
        await world.run(3_000);
        assert.equal(world.api.peek(volumeAttributesClasses, fast) !== undefined, use !== 'none');
        world.api.remove(persistentVolumeClaims, data);
        await world.run(3_000);
        assert.equal(world.api.peek(volumeAttributesClasses, fast), undefined);
        await world.stop();
      },
    ),
    { numRuns: 20 },
  ));
