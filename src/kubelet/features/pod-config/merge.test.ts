import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Pod } from '../../../api/core/pod.ts';
import type { Merge, MergedPod } from './merge.ts';
import { computeMerge } from './merge.ts';

const nowMs = Date.UTC(2026, 0, 1);
const none: ReadonlyMap<string, MergedPod> = new Map();

function pod(
  uid: string,
  changes: {
    name?: string;
    image?: string;
    labels?: Record<string, string>;
    annotations?: Record<string, string>;
    deleted?: boolean;
    phase?: 'Pending' | 'Running';
  } = {},
): Pod {
  const { name = `pod-${uid}`, image = 'a', labels, annotations, deleted = false, phase = 'Pending' } = changes;
  return {
    metadata: {
      name,
      namespace: 'default',
      uid,
      labels,
      annotations,
      ...(deleted ? { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 30 } : {}),
    },
    spec: { containers: [{ name: 'c', image }] },
    status: { phase },
  };
}

const operations = (merge: Merge): string[] =>
  merge.updates.flatMap((update) => update.pods.map((each) => `${update.op} ${each.metadata.uid}`));
const merged = (...pods: Pod[]): Merge => computeMerge(none, pods, 'file', nowMs);

test('a new pod is added, with its source and when it was first seen', () => {
  const merge = merged(pod('1'));
  assert.deepEqual(operations(merge), ['ADD 1']);
  assert.deepEqual(merge.pods.get('1')?.pod.metadata.annotations, {
    'kubernetes.io/config.source': 'file',
    'kubernetes.io/config.seen': '2026-01-01T00:00:00.000Z',
  });
});

test('an equal pod in a new object changes nothing', () => {
  assert.deepEqual(operations(computeMerge(merged(pod('1')).pods, [pod('1')], 'file', nowMs + 1)), []);
});

test('a changed spec, label or annotation is an update that keeps the time it was first seen', () => {
  const before = merged(pod('1')).pods;
  for (const change of [{ image: 'b' }, { labels: { a: 'b' } }, { annotations: { a: 'b' } }]) {
    const merge = computeMerge(before, [pod('1', change)], 'file', nowMs + 5000);
    assert.deepEqual(
      [operations(merge), merge.pods.get('1')?.pod.metadata.annotations?.['kubernetes.io/config.seen']],
      [['UPDATE 1'], '2026-01-01T00:00:00.000Z'],
    );
  }
});

test('an ephemeral container that was added to a pod of the API server is an update of that pod', () => {
  const debugged = {
    ...pod('1'),
    spec: { ...pod('1').spec, ephemeralContainers: [{ name: 'debug', image: 'busybox' }] },
  };
  const merge = computeMerge(computeMerge(none, [pod('1')], 'api', nowMs).pods, [debugged], 'api', nowMs);
  assert.deepEqual(
    [operations(merge), merge.pods.get('1')?.pod.spec.ephemeralContainers?.[0]?.name],
    [['UPDATE 1'], 'debug'],
  );
});

test("the agent's own annotations are ignored in the comparison", () => {
  const mirror = {
    annotations: {
      'kubernetes.io/config.mirror': 'x',
      'kubernetes.io/config.seen': 'y',
      'kubernetes.io/config.source': 'z',
    },
  };
  assert.deepEqual(operations(computeMerge(merged(pod('1')).pods, [pod('1', mirror)], 'file', nowMs)), []);
});

test('a removed annotation is gone after the update', () => {
  const before = merged(pod('1', { annotations: { a: 'b' } })).pods;
  const after = computeMerge(before, [pod('1')], 'file', nowMs);
  assert.equal(after.pods.get('1')?.pod.metadata.annotations?.['a'], undefined);
});

test('a deletion timestamp makes a DELETE, a missing pod a REMOVE, a changed status a RECONCILE', () => {
  const before = merged(pod('1'), pod('2'), pod('3')).pods;
  const merge = computeMerge(before, [pod('1', { deleted: true }), pod('3', { phase: 'Running' })], 'file', nowMs);
  assert.deepEqual(operations(merge), ['REMOVE 2', 'DELETE 1', 'RECONCILE 3']);
});

test('of two pods with one full name, or one uid, the first is kept', () => {
  const merge = merged(pod('1', { name: 'web' }), pod('2', { name: 'web' }), pod('1', { name: 'other' }));
  assert.deepEqual([operations(merge), merge.duplicates.map((each) => each.metadata.uid)], [['ADD 1'], ['2', '1']]);
});

test('the given pods are never changed', () => {
  const given = Object.freeze({ ...pod('1'), metadata: Object.freeze(pod('1').metadata) });
  merged(given as Pod);
  assert.equal(given.metadata.annotations, undefined);
});

test('replaying the updates on the old set gives the new set, whatever both are', () => {
  const someUid = fc.constantFrom('1', '2', '3', '4');
  const somePod = fc.record({
    uid: someUid,
    image: fc.constantFrom('a', 'b'),
    deleted: fc.boolean(),
    phase: fc.constantFrom('Pending' as const, 'Running' as const),
  });
  const somePods = fc
    .uniqueArray(somePod, { selector: (each) => each.uid })
    .map((list) => list.map(({ uid, ...changes }) => pod(uid, changes)));
  fc.assert(
    fc.property(somePods, somePods, (old, next) => {
      const before = computeMerge(none, old, 'file', nowMs).pods;
      const merge = computeMerge(before, next, 'file', nowMs + 1);
      const world = new Map([...before].map(([uid, each]) => [uid, each.pod]));
      for (const update of merge.updates) {
        for (const each of update.pods) {
          assert.equal(world.has(each.metadata.uid), update.op !== 'ADD');
          if (update.op === 'REMOVE') world.delete(each.metadata.uid);
          else world.set(each.metadata.uid, each);
        }
      }
      assert.deepEqual(
        new Map([...world].sort()),
        new Map([...merge.pods].map(([uid, each]) => [uid, each.pod] as const).sort()),
      );
      for (const given of next) assert.deepEqual(world.get(given.metadata.uid)?.spec, given.spec);
    }),
  );
});
