import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { isForced, isLeftLeaving, isOutOfService, selectSurplus } from './judge-pods.ts';

const DELETED = { 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z', 'metadata.deletionGracePeriodSeconds': 30 };

function node(ready: 'True' | 'False' | undefined, off: boolean): Node {
  return {
    metadata: { name: 'n1', namespace: '', uid: 'n1' },
    spec: { taints: off ? [{ key: 'node.kubernetes.io/out-of-service', effect: 'NoExecute' }] : [] },
    ...(ready !== undefined && { status: { conditions: [{ type: 'Ready', status: ready }] } }),
  };
}

it('a node is out of service if it has the taint and is not ready', () => {
  assert.equal(isOutOfService(node('False', true)), true);
  assert.equal(isOutOfService(node(undefined, true)), true);
  assert.equal(isOutOfService(node('True', true)), false);
  assert.equal(isOutOfService(node('False', false)), false);
  assert.equal(isOutOfService(undefined), false);
});

describe('a pod that is being deleted', () => {
  it('has no kubelet to confirm its end if it has no node, or a node out of service', () => {
    const on = (nodeName: string | undefined, more: Record<string, unknown> = DELETED): Pod =>
      buildPod({ 'spec.nodeName': nodeName, ...more });
    assert.equal(isLeftLeaving(on(undefined), undefined), true);
    assert.equal(isLeftLeaving(on(''), undefined), true);
    assert.equal(isLeftLeaving(on('n1'), node('False', true)), true);
    assert.equal(isLeftLeaving(on('n1'), node('False', false)), false);
    assert.equal(isLeftLeaving(on(undefined, {}), undefined), false);
    const forced = { ...DELETED, 'metadata.deletionGracePeriodSeconds': 0, 'status.phase': 'Failed' };
    assert.equal(isLeftLeaving(on(undefined, forced), undefined), false);
  });

  it('is kept only by finalizers if it has ended and its grace period is zero', () => {
    const forced = (more: Record<string, unknown>): boolean =>
      isForced(buildPod({ ...DELETED, 'status.phase': 'Failed', ...more }));
    assert.equal(forced({ 'metadata.deletionGracePeriodSeconds': 0 }), true);
    assert.equal(forced({ 'metadata.deletionGracePeriodSeconds': undefined }), true);
    assert.equal(forced({}), false);
    assert.equal(forced({ 'metadata.deletionGracePeriodSeconds': 0, 'status.phase': 'Running' }), false);
    assert.equal(isForced(buildPod({ 'status.phase': 'Failed' })), false);
  });
});

describe('terminated pods', () => {
  const ended = (name: string, second: number, evicted = false): Pod =>
    buildPod({
      'metadata.name': name,
      'metadata.creationTimestamp': `2026-01-01T00:00:0${second}Z`,
      'status.phase': 'Failed',
      ...(evicted && { 'status.reason': 'Evicted' }),
    });
  const pods = [ended('c', 3), ended('b', 2), ended('e', 4, true), ended('a', 2)];
  const surplus = (threshold: number, given: readonly Pod[] = pods): string =>
    selectSurplus(given, threshold)
      .map(({ metadata }) => metadata.name)
      .join(' ');

  it('are deleted above the threshold: evicted ones first, then the oldest, then by name', () => {
    assert.deepEqual(
      [3, 2, 1].map((threshold) => surplus(threshold)),
      ['e', 'e a', 'e a b'],
    );
    assert.equal(surplus(1, pods.toReversed()), 'e a b');
  });

  it('are kept at the threshold, and without a threshold', () => {
    assert.deepEqual(
      [4, 5, 0, -1].map((threshold) => surplus(threshold)),
      ['', '', '', ''],
    );
  });

  it('that succeeded, or have no status, do not count as evicted', () => {
    const done = buildPod({
      'metadata.name': 'd',
      'status.phase': 'Succeeded',
      'status.reason': 'Evicted',
      'metadata.creationTimestamp': '2026-01-01T00:00:09Z',
    });
    const bare = buildPod({ 'metadata.name': 'z', status: undefined });
    assert.equal(surplus(1, [done, ended('a', 1)]), 'a');
    assert.equal(surplus(1, [ended('a', 1), bare]), 'z');
  });
});
