import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { DaemonSetSpec } from '../../../api/apps/daemon-set.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { planPlacement, surgeCount, unavailableCount } from './daemon-plan.ts';
import { buildDaemon as daemon, buildDaemonFacts, buildDaemonSet, buildNode as node } from './testing/daemon-facts.ts';
import type { GivenDaemons } from './testing/daemon-facts.ts';

const names = (pods: readonly Pod[]): string => pods.map(({ metadata }) => metadata.name).join(' ');
const surging: Partial<DaemonSetSpec> = { updateStrategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } };

/** Formats a plan as `create n1`, `delete a b`, `ended a`, `retry 500`. */
function placed(given: GivenDaemons, delays: Readonly<Record<string, number>> = {}): string {
  const plan = planPlacement(buildDaemonFacts(given), (name) => delays[name] ?? 0);
  return [
    ...plan.create.map((name) => `create ${name}`),
    ...(plan.delete.length > 0 ? [`delete ${names(plan.delete)}`] : []),
    ...(plan.ended.length > 0 ? [`ended ${names(plan.ended)}`] : []),
    ...(plan.retryMs === undefined ? [] : [`retry ${plan.retryMs}`]),
  ].join(', ');
}

describe('on an eligible node', () => {
  const at = (spec: Partial<DaemonSetSpec>, ...pods: Pod[]): string => placed({ spec, nodes: [node('n1')], pods });

  it('a missing pod is created', () => {
    assert.equal(at({}), 'create n1');
    assert.equal(at({}, daemon('a', 'n1', 'ready')), '');
  });

  it('no pod is created before the terminating one is gone, unless a surge is allowed', () => {
    assert.equal(at({}, daemon('a', 'n1', 'leaving')), '');
    assert.equal(at(surging, daemon('a', 'n1', 'leaving')), 'create n1');
  });

  it('a terminated pod is deleted, and its replacement waits until it is removed', () => {
    assert.equal(at({}, daemon('a', 'n1', 'failed')), 'delete a, ended a');
    assert.equal(at({}, daemon('a', 'n1', 'done')), 'delete a, ended a');
    assert.equal(at({}, daemon('a', 'n1', 'failed leaving')), '');
  });

  it('only the oldest pod is kept; scheduled pods count as older than pending ones', () => {
    const at1 = { 'metadata.creationTimestamp': '2026-01-01T00:00:01Z' };
    const at2 = { 'metadata.creationTimestamp': '2026-01-01T00:00:02Z' };
    const [young, old] = [daemon('a', 'n1', 'ready', at2), daemon('b', 'n1', 'ready', at1)];
    assert.equal(at({}, young, old), 'delete a');
    assert.equal(at({}, daemon('a', 'n1', 'pending', at1), daemon('b', 'n1', 'ready', at2)), 'delete a');
    assert.equal(at({}, daemon('b', 'n1', 'ready', at1), daemon('a', 'n1', 'ready', at1)), 'delete b');
    assert.equal(at({}, daemon('a', 'n1', 'ready leaving', at1), daemon('b', 'n1', 'ready', at2)), '');
  });
});

describe('a failed pod that must wait for its successor', () => {
  const nodes = [node('n1'), node('n2'), node('n3')];
  const failed = [daemon('a', 'n1', 'failed'), daemon('b', 'n2', 'failed'), daemon('c', 'n3', 'ready')];

  it('is kept until then; the shortest wait decides the next pass', () => {
    assert.equal(placed({ nodes, pods: failed }, { n1: 900, n2: 500 }), 'retry 500');
    assert.equal(placed({ nodes, pods: failed }, { n1: 500, n2: 900 }), 'retry 500');
    assert.equal(placed({ nodes, pods: failed }, { n1: 900 }), 'delete b, ended b, retry 900');
  });

  it('does not delay the replacement of a pod that succeeded', () => {
    assert.equal(placed({ nodes: [node('n1')], pods: [daemon('a', 'n1', 'done')] }, { n1: 900 }), 'delete a, ended a');
  });
});

describe('on a node that is not eligible', () => {
  it('no pod is created, and existing ones stay if the taint is NoSchedule', () => {
    assert.equal(placed({ nodes: [node('n1', 'closed')] }), '');
    assert.equal(placed({ nodes: [node('n1', 'closed')], pods: [daemon('a', 'n1', 'ready')] }), '');
    assert.equal(placed({ spec: surging, nodes: [node('n1', 'closed')], pods: [daemon('a', 'n1', 'leaving')] }), '');
  });

  it('existing pods are deleted if the taint is NoExecute', () => {
    const pods = [daemon('a', 'n1', 'ready'), daemon('b', 'n1', 'leaving')];
    assert.equal(placed({ nodes: [node('n1', 'evicts')], pods }), 'delete a');
    assert.equal(placed({ nodes: [node('n1', 'evicts')] }), '');
  });

  it('pods that wait for a deleted node are deleted; the garbage collector deletes those that ran on it', () => {
    const pods = [daemon('a', 'gone', 'pending'), daemon('b', 'gone', 'pending leaving'), daemon('c', 'gone', 'ready')];
    assert.equal(placed({ nodes: [], pods }), 'delete a');
  });
});

describe('an update with a surge', () => {
  const at = (spec: Partial<DaemonSetSpec>, ...pods: Pod[]): string =>
    placed({ spec: { ...surging, ...spec }, nodes: [node('n1')], pods });

  it('allows a new pod beside an old one that is ready', () => {
    assert.equal(at({}, daemon('a', 'n1', 'old ready'), daemon('b', 'n1', 'new')), '');
  });

  it('deletes the old pod once the new one is available, or if the old one is not ready', () => {
    const [ready, old] = [daemon('b', 'n1', 'new ready'), daemon('a', 'n1', 'old ready')];
    assert.equal(at({}, old, ready), 'delete a');
    assert.equal(at({ minReadySeconds: 3_600 }, old, ready), 'delete a');
    assert.equal(at({ minReadySeconds: 3_601 }, old, ready), '');
    assert.equal(at({}, daemon('a', 'n1', 'old'), daemon('b', 'n1', 'new')), 'delete a');
  });

  it('keeps the oldest pod of each template', () => {
    const olds = [daemon('a', 'n1', 'old ready'), daemon('b', 'n1', 'old ready')];
    assert.equal(at({}, ...olds), 'delete b');
    assert.equal(at({}, ...olds, daemon('c', 'n1', 'new'), daemon('d', 'n1', 'new')), 'delete b d');
    assert.equal(at({}, daemon('c', 'n1', 'new'), daemon('d', 'n1', 'new')), 'delete d');
  });

  it('creates no pod beside the only one', () => {
    assert.equal(at({}, daemon('a', 'n1', 'old ready')), '');
  });
});

it('maxUnavailable and maxSurge are numbers, or percentages of the nodes rounded up', () => {
  const counts = (maxSurge: number | string | undefined, maxUnavailable: number | string | undefined): number[] => {
    const rollingUpdate = {
      ...(maxSurge !== undefined && { maxSurge }),
      ...(maxUnavailable !== undefined && { maxUnavailable }),
    };
    const set = buildDaemonSet({ updateStrategy: { type: 'RollingUpdate', rollingUpdate } });
    return [surgeCount(set, 9), unavailableCount(set, 9)];
  };
  assert.deepEqual(counts(undefined, undefined), [0, 1]);
  assert.deepEqual(counts('25%', '50%'), [3, 5]);
  assert.deepEqual(counts(2, 0), [2, 0]);
  const onDelete = buildDaemonSet({
    updateStrategy: { type: 'OnDelete', rollingUpdate: { maxSurge: 2, maxUnavailable: 2 } },
  });
  assert.deepEqual([surgeCount(onDelete, 9), unavailableCount(onDelete, 9)], [0, 0]);
  assert.deepEqual([surgeCount(buildDaemonSet(), 9), unavailableCount(buildDaemonSet(), 9)], [0, 1]);
});
