import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { pods, resourceClaims, resourceSlices } from '../../../api/client/resource-types.ts';
import type { DeviceToleration } from '../../../api/resource/device-config.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import type { ResourceSlice } from '../../../api/resource/resource-slice.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { createDeviceTaintEvictionController } from './device-taint-eviction-controller.ts';

const web = { namespace: 'default', name: 'web' };
const sliceKey = { namespace: '', name: 's' };
const broken = { key: 'broken', effect: 'NoExecute' as const, timeAdded: '2026-01-01T00:00:00Z' };

const sliceWith = (taints: readonly object[], generation = 1, name = 's'): ResourceSlice => ({
  metadata: { name, namespace: '', uid: name },
  spec: {
    driver: 'd',
    pool: { name: 'p', generation, resourceSliceCount: 1 },
    nodeName: 'node-1',
    devices: [{ name: 'g0', taints: [...taints] }, { name: 'g1' }],
  } as ResourceSlice['spec'],
});
const claimWith = (tolerations: readonly DeviceToleration[], device = 'g0'): ResourceClaim => ({
  metadata: { name: 'c', namespace: 'default', uid: 'c' },
  spec: { devices: {} },
  status: {
    allocation: {
      devices: { results: [{ request: 'r', driver: 'd', pool: 'p', device, tolerations: [...tolerations] }] },
    },
    reservedFor: [{ resource: 'pods', name: 'web', uid: buildPod({}).metadata.uid }],
  },
});
const tolerating = (tolerationSeconds?: number): DeviceToleration => ({
  key: 'broken',
  operator: 'Exists',
  effect: 'NoExecute',
  ...(tolerationSeconds !== undefined && { tolerationSeconds }),
});

async function setUp(taints: readonly object[], claim = claimWith([]), lagMs = 0): Promise<ControllerWorld> {
  const world = new ControllerWorld({ make: (options) => [createDeviceTaintEvictionController(options)], lagMs });
  world.api.seed(resourceSlices, sliceWith(taints));
  world.api.seed(resourceClaims, claim);
  world.api.seed(
    pods,
    buildPod({ 'spec.nodeName': 'node-1', 'spec.resourceClaims': [{ name: 'dev', resourceClaimName: 'c' }] }),
  );
  world.start();
  await world.clock.advance(1_000);
  return world;
}

const taint = async (world: ControllerWorld, ...taints: object[]): Promise<void> => {
  world.api.change(resourceSlices, sliceKey, () => sliceWith(taints));
  await world.clock.advance(1_000);
};
const isLeaving = (world: ControllerWorld): boolean =>
  world.api.peek(pods, web)?.metadata.deletionTimestamp !== undefined;
const marked = 'Normal DeviceTaintManagerEviction Marking for deletion';
const cancelled = 'Normal DeviceTaintManagerEviction Cancelling deletion';

it('a pod whose device gets an untolerated taint is deleted, and its condition has the reason', async () => {
  const world = await setUp([]);
  await taint(world, { ...broken, effect: 'NoSchedule' });
  assert.deepEqual([isLeaving(world), world.api.writes], [false, []]);
  await taint(world, broken);
  const condition = world.api.peek(pods, web)?.status?.conditions?.find(({ type }) => type === 'DisruptionTarget');
  assert.deepEqual(
    [condition?.reason, condition?.message],
    ['DeletionByDeviceTaintManager', 'Device Taint manager: deleting due to NoExecute taint'],
  );
  assert.deepEqual([isLeaving(world), world.events], [true, [marked]]);
  await world.stop();
});

it('pods with other devices, without a reservation or without a node stay', async () => {
  const other = await setUp([broken], claimWith([], 'g1'));
  const unreserved = await setUp([broken], { ...claimWith([]), status: { ...claimWith([]).status, reservedFor: [] } });
  assert.deepEqual([isLeaving(other), isLeaving(unreserved)], [false, false]);
  unreserved.api.change(resourceClaims, { namespace: 'default', name: 'c' }, () => claimWith([]));
  await unreserved.clock.advance(1_000);
  assert.equal(isLeaving(unreserved), true);
  await Promise.all([other.stop(), unreserved.stop()]);
});

it('a claim with a toleration period keeps its pod for that time since the taint, even across restarts', async () => {
  const world = await setUp([broken], claimWith([tolerating(100), tolerating(200)]));
  await world.clock.advance(60_000);
  world.restart();
  await world.clock.advance(36_000);
  assert.equal(isLeaving(world), false);
  await world.clock.advance(4_000);
  assert.deepEqual([isLeaving(world), world.events], [true, [marked]]);
  const forever = await setUp([broken], claimWith([tolerating(10), tolerating()]));
  await forever.clock.advance(60_000);
  assert.equal(isLeaving(forever), false);
  await Promise.all([world.stop(), forever.stop()]);
});

it('a pod stays if the taint is removed in time, even with a new generation of the pool', async () => {
  const world = await setUp([broken], claimWith([tolerating(100)]));
  await taint(world);
  assert.deepEqual(world.events, [cancelled]);
  await taint(world, broken);
  world.api.seed(resourceSlices, sliceWith([], 2, 's2'));
  await world.clock.advance(300_000);
  assert.deepEqual([isLeaving(world), world.events], [false, [cancelled]]);
  await world.stop();
  assert.equal(world.clock.armedTimers, 0);
});

it('a rejected eviction is retried, and its event is recorded once', async () => {
  const world = await setUp([], claimWith([]), 300);
  world.api.fail('delete', 'pods', new ApiStatusError('InternalError', 'no'), 3);
  await taint(world, broken);
  await world.clock.advance(2_000);
  assert.deepEqual([isLeaving(world), world.events], [true, [marked]]);
  await world.stop();
});

it('despite crashes and late events, exactly the pods with tainted devices are evicted', () => {
  const step = fc.oneof(
    fc.record({ kind: fc.constant('taint' as const), isTainted: fc.boolean() }),
    fc.record({ kind: fc.constant('kill' as const), writes: fc.nat(3) }),
    fc.record({ kind: fc.constant('fail' as const), verb: fc.constantFrom('patch' as const, 'delete' as const) }),
  );
  return fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(step, fc.nat(4)), { maxLength: 10 }),
      fc.constantFrom(undefined, 0, 2),
      async (steps, tolerationSeconds) => {
        const claim = claimWith(tolerationSeconds === undefined ? [] : [tolerating(tolerationSeconds)]);
        const world = await setUp([], claim, 800);
        let timeAdded = '';
        let wasTainted = false;
        let sinceMs: number | undefined;
        for (const [each, halfSeconds] of steps) {
          if (each.kind === 'kill') world.restartAtWrite(each.writes);
          else if (each.kind === 'fail')
            world.api.fail(each.verb, 'pods', new ApiStatusError('InternalError', 'no'), 1);
          else {
            if (each.isTainted && sinceMs === undefined) {
              sinceMs = world.clock.nowMs();
              timeAdded = new Date(sinceMs).toISOString();
            } else if (!each.isTainted) sinceMs = undefined;
            wasTainted ||= each.isTainted;
            world.api.change(resourceSlices, sliceKey, () =>
              sliceWith(each.isTainted ? [{ ...broken, timeAdded }] : []),
            );
          }
          await world.clock.advance(halfSeconds * 500);
        }
        await world.clock.advance(60_000);
        if (sinceMs !== undefined) assert.equal(isLeaving(world), true);
        else if (!wasTainted) assert.equal(isLeaving(world), false);
        await world.stop();
      },
    ),
  );
});
