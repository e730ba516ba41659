import { it } from 'node:test';
import assert from 'node:assert/strict';
import fc from 'fast-check';
import { deviceClasses, pods, resourceClaims, resourceSlices } from '../../../api/client/resource-types.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { buildNode, buildPod } from '../testing/builders.ts';
import { SchedulerWorld } from '../testing/scheduler-world.ts';

const devices = ['g0', 'g1', 'g2'];
const slice: ResourceSlice = {
  metadata: { name: 's', namespace: '', uid: 's' },
  spec: {
    driver: 'd',
    pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
    allNodes: true,
    devices: devices.map((name) => ({ name })),
  },
};
const claimNamed = (name: string): ResourceClaim => ({
  metadata: { name, namespace: 'default', uid: `uid-${name}` },
  spec: {
    devices: { requests: [{ name: 'r', exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1 } }] },
  },
});

function podWith(name: string, isExtended: boolean): Pod {
  return isExtended
    ? buildPod(name, { requests: { 'example.com/gpu': '1' } })
    : buildPod(name, { spec: { resourceClaims: [{ name: 'dev', resourceClaimName: name }] } });
}

const stepArbitrary = fc.oneof(
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('add' as const), isExtended: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('remove' as const), which: fc.nat(5) }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('fail' as const),
      call: fc.constantFrom(
        ['create', 'resourceclaims'] as const,
        ['update', 'resourceclaims'] as const,
        ['patch', 'pods'] as const,
        ['post', 'pods'] as const,
      ),
      reason: fc.constantFrom('Forbidden' as const, 'Conflict' as const),
    }),
  },
);

it('under random failures no device is allocated twice, and in the end as many pods run as there are devices', () =>
  fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(stepArbitrary, fc.nat(6)), { maxLength: 12 }),
      fc.constantFrom(0, 300, 900),
      async (steps, lagMs) => {
        const world = new SchedulerWorld({ lagMs });
        world.api.seed(deviceClasses, {
          metadata: { name: 'gpu', namespace: '', uid: 'k' },
          spec: { extendedResourceName: 'example.com/gpu' },
        });
        world.api.seed(resourceSlices, slice);
        world.addNode(buildNode('n'));
        world.start();
        let born = 0;
        for (const [step, halfSeconds] of steps) {
          if (step.kind === 'fail')
            world.api.fail(step.call[0], step.call[1], new ApiStatusError(step.reason, 'no'), 1);
          else if (step.kind === 'add') {
            const name = `p${born++}`;
            if (!step.isExtended) world.api.seed(resourceClaims, claimNamed(name));
            world.api.seed(pods, podWith(name, step.isExtended));
          } else remove(world, step.which);
          await world.clock.advance(halfSeconds * 500);
          assertDistinct(world);
        }
        await world.clock.advance(20_000);
        collect(world);
        await world.clock.advance(900_000);
        assertDistinct(world);
        const all = world.api.all(pods);
        const placed = all.filter(({ spec }) => spec.nodeName === 'n');
        assert.equal(
          placed.length,
          Math.min(all.length, devices.length),
          JSON.stringify(world.api.all(resourceClaims)),
        );
        await world.stop();
      },
    ),
  ));

function remove(world: SchedulerWorld, which: number): void {
  const pod = world.api.all(pods)[which];
  if (pod === undefined) return;
  world.api.remove(pods, keyOf(pod));
  collect(world);
}

/** Deletes the claims of deleted pods, as the garbage collector and the claim controller do. */
function collect(world: SchedulerWorld): void {
  const known = world.api.all(pods);
  for (const claim of world.api.all(resourceClaims)) {
    const owners = claim.metadata.ownerReferences ?? [];
    const isUsed = known.some(
      ({ metadata: { uid, name } }) => owners.some((owner) => owner.uid === uid) || claim.metadata.name === name,
    );
    if (!isUsed) world.api.remove(resourceClaims, keyOf(claim));
  }
}

function assertDistinct(world: SchedulerWorld): void {
  const given = world.api.all(resourceClaims).flatMap(({ status }) => status?.allocation?.devices.results ?? []);
  const names = given.map(({ device }) => device);
  assert.equal(new Set(names).size, names.length, names.join());
}
