// A job controller on a cluster with three nodes; the test defines how pods end.
import type { Job, JobSpec } from '../../../../api/batch/job.ts';
import { jobs } from '../../../../api/client/resource-types.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import { ControllerWorld } from '../../../controller-runtime/testing/controller-world.ts';
import type { PodOutcome, WorldOptions } from '../../../controller-runtime/testing/controller-world.ts';
import { createJobController } from '../job-controller.ts';
import { completionIndex } from '../job-facts.ts';

export const work = { namespace: 'default', name: 'work' };

export function buildJob(spec: Partial<JobSpec> = {}): Job {
  const template = {
    metadata: { labels: { 'batch.kubernetes.io/controller-uid': 'job-1' } },
    spec: buildPod({ 'spec.restartPolicy': 'Never' }).spec,
  };
  const selector = { matchLabels: { 'batch.kubernetes.io/controller-uid': 'job-1' } };
  return {
    metadata: { ...work, uid: 'job-1' },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 6,
      completionMode: 'NonIndexed',
      suspend: false,
      podReplacementPolicy: 'TerminatingOrFailed',
      selector,
      template,
      ...spec,
    },
  };
}

export const endingAfter =
  (ms: number, outcome: PodOutcome) =>
  (_pod: Pod, ageMs: number): PodOutcome =>
    ageMs >= ms ? outcome : 'ready';

export async function startJobWorld(job: Job, options: Partial<WorldOptions> = {}): Promise<ControllerWorld> {
  const world = new ControllerWorld({
    make: (each) => [createJobController(each)],
    owners: [jobs],
    outcome: endingAfter(2_000, 'succeeded'),
    ...options,
  });
  for (const name of ['a', 'b', 'c']) world.addNode(name);
  world.api.seed(jobs, job);
  world.start();
  await world.clock.settle();
  return world;
}

export const changeJob = (world: ControllerWorld, spec: Partial<JobSpec>): void =>
  void world.api.change(jobs, work, (job) => ({ ...job, spec: { ...job.spec, ...spec } }));
export const statusOf = (world: ControllerWorld): NonNullable<Job['status']> =>
  world.api.peek(jobs, work)?.status ?? {};
export const conditionsOf = (world: ControllerWorld): string[] =>
  (statusOf(world).conditions ?? []).map(
    ({ type, status, reason, message }) => `${type} ${status} ${reason} ${message}`,
  );
export const countsOf = (world: ControllerWorld): number[] => [
  statusOf(world).active ?? 0,
  statusOf(world).succeeded ?? 0,
  statusOf(world).failed ?? 0,
];
export const createdPods = (world: ControllerWorld): number =>
  world.api.writes.filter((each) => each.startsWith('create pods')).length;
export const activeIndexes = (world: ControllerWorld): number[] =>
  world.activePods.map((pod) => completionIndex(pod) ?? -1).toSorted((left, right) => left - right);
