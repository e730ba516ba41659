import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { Job } from '../../../api/batch/job.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { isPodActive, isPodReady, isPodTerminating } from '../../controller-runtime/pod-facts.ts';
import { jobAnnotations, TRACKING_FINALIZER, validIndex } from './job-facts.ts';
import { JobMembers } from './job-members.ts';
import { buildJob } from './testing/job-world.ts';

const label = 'batch.kubernetes.io/controller-uid';
const podArb = fc.record({
  owner: fc.constantFrom('job-1', 'job-1', 'job-1', 'other'),
  phase: fc.constantFrom('Pending', 'Running', 'Succeeded', 'Failed', undefined),
  ready: fc.boolean(),
  leaving: fc.boolean(),
  tracked: fc.boolean(),
  index: fc.constantFrom('0', '1', '2', '7', 'x'),
  restarts: fc.nat(3),
});
type PodFacts = typeof podArb extends fc.Arbitrary<infer T> ? T : never;

function build(number: number, { owner, phase, ready, leaving, tracked, index, restarts }: PodFacts): Pod {
  const pod = buildPod({ 'metadata.name': `p${number}`, 'metadata.uid': `p${number}` });
  const { name = '' } = pod.spec.containers[0] ?? {};
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { [label]: owner },
      annotations: { [jobAnnotations.completionIndex]: index },
      ...(tracked && { finalizers: [TRACKING_FINALIZER] }),
      ...(leaving && { deletionTimestamp: '2026-01-01T00:00:00Z' }),
    },
    status: {
      ...(phase !== undefined && { phase }),
      conditions: [{ type: 'Ready', status: ready ? 'True' : 'False' }],
      containerStatuses: [{ name, ready, restartCount: restarts, image: '', imageID: '' }],
    },
  };
}

/** Computes all values from all pods. */
function compute(job: Job, pods: readonly Pod[]): unknown {
  const own = pods.filter(({ metadata }) => matchesLabelSelector(job.spec.selector, metadata.labels ?? {}));
  const active = own.filter(isPodActive);
  const running = own.filter(({ status }) => status?.phase === 'Running' || status?.phase === 'Pending');
  const isJudged = ({ status }: Pod): boolean => job.spec.podFailurePolicy !== undefined && status?.phase === 'Failed';
  const indexes = active.flatMap((pod) => validIndex(job, pod) ?? []);
  return {
    active: active.map(({ metadata }) => metadata.name).toSorted(),
    ready: active.filter(isPodReady).length,
    terminating: own.filter(isPodTerminating).length,
    restarts: running.reduce((sum, { status }) => sum + (status?.containerStatuses?.[0]?.restartCount ?? 0), 0),
    indexes: job.spec.completionMode === 'Indexed' ? [...new Set(indexes)].toSorted().join(',') : '',
    others: own
      .filter((pod) => !isPodActive(pod))
      .filter((pod) => pod.metadata.finalizers !== undefined || isPodTerminating(pod) || isJudged(pod))
      .map(({ metadata }) => metadata.name)
      .toSorted(),
    strays: pods.length - own.length,
  };
}

function shown(members: JobMembers): unknown {
  const { active, ready, terminating, restarts, activeIndexes, others, listActive } = members.pods;
  assert.equal(listActive().length, active);
  return {
    ...{ ready, terminating, restarts, strays: members.strays },
    active: listActive()
      .map(({ metadata }) => metadata.name)
      .toSorted(),
    indexes: activeIndexes
      .firstMissing(3, 3)
      .reduce((text, index) => text.filter((each) => each !== index), [0, 1, 2])
      .join(','),
    others: others.map(({ metadata }) => metadata.name).toSorted(),
  };
}

it('the incremental counts equal those computed from all pods', () => {
  const steps = fc.array(fc.tuple(fc.nat(5), fc.option(podArb, { nil: undefined }), fc.boolean()), { maxLength: 40 });
  const jobArb = fc.record({ indexed: fc.boolean(), policy: fc.boolean() });
  fc.assert(
    fc.property(jobArb, steps, ({ indexed, policy }, taken) => {
      const job = buildJob({
        completions: 3,
        completionMode: indexed ? 'Indexed' : 'NonIndexed',
        ...(policy && { podFailurePolicy: { rules: [] } }),
      });
      const members = new JobMembers(job);
      const known = new Map<number, Pod>();
      for (const [number, facts, asked] of taken) {
        const before = known.get(number);
        if (before !== undefined) members.remove(before);
        known.delete(number);
        if (facts !== undefined) {
          const pod = build(number, facts);
          known.set(number, members.add(pod));
        }
        if (asked) assert.deepEqual(shown(members), compute(job, [...known.values()]));
      }
      assert.deepEqual(shown(members), compute(job, [...known.values()]));
      for (const pod of known.values()) members.remove(pod);
      assert.deepEqual(shown(members), compute(job, []));
    }),
    { numRuns: 300 },
  );
});

it('values that were read do not change with later changes of pods', () => {
  const facts = { owner: 'job-1', ready: true, leaving: false, tracked: true, index: '0', restarts: 0 } as const;
  const job = buildJob({ completions: 3, completionMode: 'Indexed' });
  const members = JobMembers.of(job, [
    build(0, { ...facts, phase: 'Running' }),
    build(1, { ...facts, phase: 'Failed' }),
  ]);
  const { active, ready, others, activeIndexes } = members.pods;
  members.add(build(2, { ...facts, phase: 'Running', index: '1' }));
  members.add(build(3, { ...facts, phase: 'Failed' }));
  assert.deepEqual([active, ready, others.length, activeIndexes.toString()], [1, 1, 1, '0']);
});
