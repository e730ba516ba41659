import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Job } from '../../../api/batch/job.ts';
import { keyOf } from '../../../api/client/resource-type.ts';
import { jobs, pods } from '../../../api/client/resource-types.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodOutcome } from '../../controller-runtime/testing/controller-world.ts';
import { isFinished } from './job-facts.ts';
import { buildJob, startJobWorld, changeJob, statusOf, countsOf, work } from './testing/job-world.ts';

it('each pod is counted exactly once, and at most parallelism pods run, despite crashes of the controller and late events', () => {
  const event = fc.oneof(
    fc.record({ kind: fc.constant('kill' as const), writes: fc.integer({ min: 1, max: 10 }) }),
    fc.record({ kind: fc.constant('parallel' as const), to: fc.integer({ min: 1, max: 5 }) }),
    fc.record({ kind: fc.constant('vanish' as const), which: fc.nat(10) }),
  );
  return fc.assert(
    fc.asyncProperty(
      fc.array(fc.tuple(event, fc.integer({ min: 1, max: 8 })), { maxLength: 10 }),
      fc.nat(1_000),
      fc.boolean(),
      async (steps, seed, indexed) => {
        const ends = (pod: Pod): number => [...pod.metadata.uid].reduce((sum, letter) => sum + letter.charCodeAt(0), 0);
        const outcome = (pod: Pod, ageMs: number): PodOutcome =>
          ageMs < 500 + (ends(pod) % 4) * 500 ? 'ready' : ends(pod) % 3 === 0 ? 'failed' : 'succeeded';
        const world = await startJobWorld(
          buildJob({
            parallelism: 3,
            completions: 6,
            backoffLimit: 100,
            completionMode: indexed ? 'Indexed' : 'NonIndexed',
          }),
          { seed, outcome, lagMs: 600 },
        );
        const succeeded = new Set<string>();
        const failed = new Set<string>();
        // The controller may still see the value of a few delays ago.
        const wanted = [{ untilMs: Infinity, parallelism: 3 }];
        const want = (parallelism: number): void => {
          for (const each of wanted) each.untilMs = Math.min(each.untilMs, world.clock.monotonicMs());
          wanted.push({ untilMs: Infinity, parallelism });
          changeJob(world, { parallelism });
        };
        world.check = () => {
          const seen = wanted.filter(({ untilMs }) => untilMs > world.clock.monotonicMs() - 5_000);
          const most = Math.max(...seen.map(({ parallelism }) => parallelism));
          assert.ok(world.activePods.length <= most, `${world.activePods.length} pods where ${most} may run`);
          for (const pod of world.api.all(pods)) {
            if (pod.metadata.finalizers === undefined) continue;
            if (pod.status?.phase === 'Succeeded') succeeded.add(pod.metadata.uid);
            if (pod.status?.phase === 'Failed') failed.add(pod.metadata.uid);
          }
        };
        for (const [step, halfSeconds] of steps) {
          if (step.kind === 'kill') world.restartAtWrite(step.writes);
          else if (step.kind === 'parallel') want(step.to);
          else {
            const pod = world.activePods[step.which % Math.max(1, world.activePods.length)];
            if (pod !== undefined)
              world.api.change(pods, keyOf(pod), (each) => ({
                ...each,
                status: { ...each.status, phase: 'Failed' as const },
              }));
          }
          await world.run(halfSeconds * 500);
        }
        await world.run(150_000);
        for (let more = 0; more < 20 && !isFinished(world.api.peek(jobs, work) as Job); more++) await world.run(60_000);
        assert.deepEqual(
          [countsOf(world)[0], countsOf(world)[1], isFinished(world.api.peek(jobs, work) as Job)],
          [0, 6, true],
        );
        if (!indexed) assert.equal(succeeded.size, 6);
        assert.equal(countsOf(world)[2], failed.size);
        assert.deepEqual(statusOf(world).uncountedTerminatedPods, {});
        assert.ok(world.api.all(pods).every(({ metadata }) => metadata.finalizers === undefined));
        await world.stop();
      },
    ),
    {
      numRuns: 25,
      examples: [
        [
          [
            [{ kind: 'parallel', to: 5 }, 2],
            [{ kind: 'vanish', which: 4 }, 1],
            [{ kind: 'parallel', to: 1 }, 1],
          ],
          1,
          false,
        ],
      ],
    },
  );
});
