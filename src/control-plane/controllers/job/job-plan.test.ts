import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { JobSpec } from '../../../api/batch/job.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { IndexSet } from './index-set.ts';
import type { FailureRecord } from './job-backoff.ts';
import type { JobTally } from './job-facts.ts';
import { JobMembers } from './job-members.ts';
import type { JobPlan } from './job-plan.ts';
import { planPods } from './job-plan.ts';

const NOW_MS = Date.parse('2026-01-01T00:01:00Z');

interface Given {
  readonly spec?: Partial<JobSpec>;
  readonly tally?: Partial<Omit<JobTally, 'active'>> & { readonly active?: readonly Pod[] };
  readonly record?: FailureRecord;
  /** The inactive pods. */
  readonly pods?: readonly Pod[];
}

function plan({ spec, tally, record, pods }: Given): JobPlan {
  const job = {
    metadata: { name: 'j', namespace: 'default', uid: 'j' },
    spec: { parallelism: 1, selector: {}, template: { metadata: {}, spec: buildPod().spec }, ...spec },
  };
  const members = JobMembers.of(job, [...(tally?.active ?? []), ...(pods ?? [])]).pods;
  const all: JobTally = {
    ...{ ready: 0, terminating: 0, newSucceeded: [], newFailed: [], succeeded: 0, failed: 0 },
    ...{ uncountedSucceeded: new Set(), uncountedFailed: new Set(), heldByIndex: new Map() },
    ...{ knownIndexes: IndexSet.empty, succeededIndexes: IndexSet.empty, failedIndexes: undefined },
    ...tally,
    active: members.active,
  };
  return planPods({ job, pods: members, freed: new Set(), nowMs: NOW_MS }, all, record);
}

const pod = (name: string, changes: Record<string, unknown> = {}): Pod =>
  buildPod({ 'metadata.name': name, 'metadata.uid': name, 'spec.nodeName': 'n', ...changes });
const many = (count: number): Pod[] => Array.from({ length: count }, (_, index) => pod(`p${index}`));
const indexed = (name: string, index: number | string, changes: Record<string, unknown> = {}): Pod =>
  pod(name, {
    'metadata.annotations': { 'batch.kubernetes.io/job-completion-index': String(index) },
    ...changes,
  });

/** Formats a plan as `create 2`, `delete 1`, `wait 5000`, `nothing`. */
function shown(result: JobPlan): string {
  if (result.kind === 'create') return `create ${result.indexes.map((index) => index ?? '-').join(' ')}`;
  if (result.kind === 'delete') return `delete ${result.pods.length}`;
  return result.kind === 'wait' ? `wait ${result.ms}` : 'nothing';
}

describe('a job with a number of completions', () => {
  for (const [parallelism, completions, active, succeeded, expected] of [
    [3, 5, 0, 0, 'create - - -'],
    [3, 5, 1, 0, 'create - -'],
    [3, 5, 3, 2, 'nothing'],
    [3, 5, 1, 3, 'create -'],
    [3, 5, 1, 4, 'nothing'],
    [3, 5, 3, 4, 'delete 2'],
    [3, 5, 2, 6, 'delete 2'],
    [0, 5, 0, 0, 'nothing'],
    [0, 5, 2, 0, 'delete 2'],
    [undefined, 5, 0, 0, 'create -'],
    [900, 900, 0, 0, `create ${'- '.repeat(500).trim()}`],
  ] as const)
    it(`of ${completions}, ${String(parallelism)} at once, has ${active} active and ${succeeded} done: ${expected.slice(0, 20)}`, () => {
      const spec = { ...(parallelism === undefined ? { parallelism: undefined } : { parallelism }), completions };
      assert.equal(shown(plan({ spec, tally: { active: many(active), succeeded } })), expected);
    });

  it('deletes at most 500 pods in one pass', () => {
    const spec = { parallelism: 1, completions: 1 };
    assert.equal(shown(plan({ spec, tally: { active: many(700) } })), 'delete 500');
  });
});

it('a job without completions neither starts nor stops pods after one has succeeded', () => {
  const spec = { parallelism: 3 };
  assert.equal(shown(plan({ spec, tally: { active: many(1) } })), 'create - -');
  assert.equal(shown(plan({ spec, tally: { active: many(4) } })), 'delete 1');
  assert.equal(shown(plan({ spec, tally: { active: many(1), succeeded: 1 } })), 'nothing');
  assert.equal(shown(plan({ spec, tally: { active: many(4), succeeded: 1 } })), 'nothing');
});

it('a suspended job deletes all its pods and creates none', () => {
  const spec = { suspend: true, parallelism: 3, completions: 5 };
  assert.equal(shown(plan({ spec, tally: { active: many(2) } })), 'delete 2');
  assert.equal(shown(plan({ spec, tally: { terminating: 2 } })), 'nothing');
});

it('terminating pods are replaced at once, or with the policy Failed when they are gone', () => {
  const spec = { parallelism: 3, completions: 5 };
  assert.equal(shown(plan({ spec, tally: { active: many(1), terminating: 1 } })), 'create - -');
  const failed = { ...spec, podReplacementPolicy: 'Failed' as const };
  assert.equal(shown(plan({ spec: failed, tally: { active: many(1), terminating: 1 } })), 'create -');
  assert.equal(shown(plan({ spec: failed, tally: { active: many(1), terminating: 2 } })), 'nothing');
});

it('after failures the next pod waits, while surplus pods are still deleted', () => {
  const spec = { parallelism: 2, completions: 2 };
  const record = { failures: 2, lastMs: NOW_MS - 5000 };
  assert.equal(shown(plan({ spec, record })), 'wait 15000');
  assert.equal(shown(plan({ spec, record: { ...record, lastMs: NOW_MS - 20_000 } })), 'create - -');
  assert.equal(shown(plan({ spec, record, tally: { active: many(3) } })), 'delete 1');
  assert.equal(shown(plan({ spec, record, tally: { active: many(2) } })), 'nothing');
});

describe('an Indexed job', () => {
  const spec = { completionMode: 'Indexed' as const, parallelism: 3, completions: 5 };

  it('starts the lowest indexes that are not active, succeeded or failed', () => {
    assert.equal(shown(plan({ spec })), 'create 0 1 2');
    const tally = { active: [indexed('a', 1)], succeededIndexes: IndexSet.of([0]), succeeded: 1 };
    assert.equal(shown(plan({ spec, tally })), 'create 2 3');
    assert.equal(shown(plan({ spec, tally: { ...tally, failedIndexes: IndexSet.of([2]) } })), 'create 3 4');
    const none = { succeededIndexes: IndexSet.of([0, 1, 2]), failedIndexes: IndexSet.of([3, 4]), succeeded: 3 };
    assert.equal(shown(plan({ spec, tally: none })), 'nothing');
  });

  it('waits with the policy Failed until the pod of an index is gone', () => {
    const leaving = indexed('a', 0, { 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z' });
    const given = { tally: { terminating: 1 }, pods: [leaving] };
    assert.equal(shown(plan({ ...given, spec })), 'create 0 1 2');
    assert.equal(shown(plan({ ...given, spec: { ...spec, podReplacementPolicy: 'Failed' } })), 'create 1 2');
  });

  it('deletes pods with a duplicate or invalid index, and keeps the others', () => {
    const ready = { 'status.conditions': [{ type: 'Ready', status: 'True' }], 'status.phase': 'Running' };
    const active = [
      indexed('new', 0),
      indexed('ready', 0, ready),
      indexed('one', 1),
      indexed('x', 'x'),
      indexed('far', 5),
    ];
    const result = plan({ spec, tally: { active } });
    assert.ok(result.kind === 'delete');
    assert.deepEqual(result.pods.map(({ metadata }) => metadata.name).sort(), ['far', 'new', 'x']);
  });

  it('with a limit per index applies the back-off to each index separately', () => {
    const held = (index: number, count: number, secondsAgo: number): [number, Pod] => [
      index,
      indexed(`h${index}`, index, {
        'metadata.annotations': {
          'batch.kubernetes.io/job-completion-index': String(index),
          'batch.kubernetes.io/job-index-failure-count': String(count),
        },
        'status.phase': 'Failed',
        'metadata.creationTimestamp': new Date(NOW_MS - secondsAgo * 1000).toISOString().replace('.000', ''),
      }),
    ];
    const own = { ...spec, backoffLimitPerIndex: 3 };
    const soon = { heldByIndex: new Map([held(0, 0, 4), held(1, 1, 15), held(2, 0, 10)]) };
    assert.equal(shown(plan({ spec: own, tally: soon })), 'create 2');
    const later = { heldByIndex: new Map([held(0, 0, 4), held(1, 1, 15), held(2, 0, 1)]) };
    assert.equal(shown(plan({ spec: own, tally: later })), 'wait 5000');
    assert.equal(shown(plan({ spec: own })), 'create 0 1 2');
    const done = { succeededIndexes: IndexSet.of([0, 1]), failedIndexes: IndexSet.of([2, 3, 4]), succeeded: 2 };
    assert.equal(shown(plan({ spec: own, tally: done })), 'nothing');
    const record = { failures: 9, lastMs: NOW_MS };
    assert.equal(shown(plan({ spec: own, record })), 'create 0 1 2', 'the job as a whole does not wait');
    assert.equal(shown(plan({ spec: { ...own, parallelism: 900, completions: 900 } })).split(' ').length, 501);
  });
});

it('never has more pods than the parallelism or the missing indexes', () => {
  const given = fc.record({ parallelism: fc.nat(5), completions: fc.nat(8), active: fc.nat(8), succeeded: fc.nat(8) });
  fc.assert(
    fc.property(given, ({ parallelism, completions, active, succeeded }) => {
      const result = plan({ spec: { parallelism, completions }, tally: { active: many(active), succeeded } });
      const created = result.kind === 'create' ? result.indexes.length : 0;
      const deleted = result.kind === 'delete' ? result.pods.length : 0;
      assert.equal(active + created - deleted, Math.max(0, Math.min(parallelism, completions - succeeded)));
    }),
  );
});
