import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { replicaSets } from '../../../api/client/resource-types.ts';
import { isPodReady } from '../../controller-runtime/pod-facts.ts';
import type { ControllerWorld } from '../../controller-runtime/testing/controller-world.ts';
import { build, setUp, change, roll, current, condition } from './testing/deployment-world.ts';

describe('a deployment under random events and crashes of the controller', () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant('scale' as const), to: fc.integer({ min: 0, max: 9 }) }),
    fc.record({ kind: fc.constant('roll' as const), image: fc.constantFrom('v1', 'v2', 'v3') }),
    fc.record({ kind: fc.constant('kill' as const), writes: fc.integer({ min: 1, max: 8 }) }),
    fc.record({ kind: fc.constant('pause' as const), seconds: fc.integer({ min: 1, max: 5 }) }),
  );
  const bounds = fc.constantFrom([1, 0], [0, 1], ['25%', '25%'], [2, 3], ['100%', 0], ['1%', '0%']);
  const steps = fc.array(fc.tuple(event, fc.integer({ min: 1, max: 10 })), { minLength: 1, maxLength: 8 });

  async function play(
    world: ControllerWorld,
    plays: readonly (readonly [
      {
        readonly kind: string;
        readonly to?: number;
        readonly image?: string;
        readonly writes?: number;
        readonly seconds?: number;
      },
      number,
    ])[],
  ): Promise<{ replicas: number; image: string }> {
    let [replicas, image] = [4, 'v1'];
    for (const [step, halfSeconds] of plays) {
      if (step.to !== undefined) change(world, { replicas: (replicas = step.to) });
      else if (step.image !== undefined) roll(world, (image = step.image));
      else if (step.writes !== undefined) world.restartAtWrite(step.writes);
      else if (step.seconds !== undefined) {
        change(world, { paused: true });
        await world.run(step.seconds * 1000);
        change(world, { paused: false });
      }
      await world.run(halfSeconds * 500);
    }
    await world.run(60_000);
    return { replicas, image };
  }

  it('reaches the desired template and size, even with late events', () =>
    fc.assert(
      fc.asyncProperty(
        steps,
        bounds,
        fc.nat(1_000),
        fc.constantFrom('RollingUpdate' as const, 'Recreate' as const),
        async (plays, [surge, unavailable], seed, type) => {
          const strategy =
            type === 'Recreate' ? { type } : { type, rollingUpdate: { maxSurge: surge, maxUnavailable: unavailable } };
          const world = await setUp(build(4, { strategy }), { seed, lagMs: 700 });
          const { replicas, image } = await play(world, plays);
          const status = current(world).status;
          const found = [
            world.activePods.filter(({ spec }) => spec.containers[0]?.image === image).length,
            world.activePods.length,
            status?.updatedReplicas,
            status?.availableReplicas,
            status?.replicas,
          ];
          assert.deepEqual(found, [replicas, replicas, replicas, replicas, replicas]);
          assert.match(condition(world, 'Progressing'), /^True NewReplicaSetAvailable/);
          await world.stop();
        },
      ),
      { numRuns: 40 },
    ));

  it('never exceeds the surge, and never deletes available pods below the minimum', () =>
    fc.assert(
      fc.asyncProperty(steps, bounds, fc.nat(1_000), async (plays, [surge, unavailable], seed) => {
        const world = await setUp(
          build(4, {
            strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: surge, maxUnavailable: unavailable } },
          }),
          { seed },
        );
        const scaled = (value: number | string | undefined, of: number, round: (x: number) => number): number =>
          typeof value === 'number' ? value : round((of * Number.parseInt(value ?? '0', 10)) / 100);
        let [mostBefore, availableBefore] = [0, 0];
        const seen = [{ atMs: world.clock.monotonicMs(), replicas: 4 }];
        world.check = () => {
          const atMs = world.clock.monotonicMs();
          seen.push({ atMs, replicas: current(world).spec.replicas ?? 0 });
          // Each size counts until the next one was observed, because the controller may still use an older one.
          while (seen[1] !== undefined && seen[1].atMs < atMs - 5_000) seen.shift();
          const recent = seen.map(({ replicas }) => replicas);
          const total = world.api.all(replicaSets).reduce((sum, { spec }) => sum + (spec.replicas ?? 0), 0);
          const most = Math.max(...recent.map((wanted) => wanted + scaled(surge, wanted, Math.ceil)));
          assert.ok(total <= Math.max(mostBefore, most), `${total} replicas where ${most} may be`);
          mostBefore = total;
          const available = world.activePods.filter(isPodReady).length;
          const least = Math.min(
            ...recent.map(
              (wanted) =>
                wanted -
                Math.max(scaled(unavailable, wanted, Math.floor), scaled(surge, wanted, Math.ceil) === 0 ? 1 : 0),
            ),
          );
          // A change of size is distributed over the sets in proportion, whichever pods are available (upstream:
          // scale).
          const must = least - (Math.max(...recent) - Math.min(...recent));
          assert.ok(available >= Math.min(availableBefore, must), `${available} available where ${must} must be`);
          availableBefore = available;
        };
        await play(world, plays);
        await world.stop();
      }),
      {
        numRuns: 40,
        examples: [
          [
            [
              [{ kind: 'scale', to: 3 }, 1],
              [{ kind: 'roll', image: 'v2' }, 1],
              [{ kind: 'scale', to: 4 }, 1],
              [{ kind: 'scale', to: 3 }, 1],
            ],
            ['25%', '25%'],
            0,
          ],
          [
            [
              [{ kind: 'kill', writes: 1 }, 1],
              [{ kind: 'roll', image: 'v3' }, 5],
              [{ kind: 'kill', writes: 4 }, 3],
              [{ kind: 'scale', to: 2 }, 1],
              [{ kind: 'kill', writes: 1 }, 1],
            ],
            [1, 0],
            0,
          ],
        ],
      },
    ));
});
