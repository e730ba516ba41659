import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { Pod } from '../../api/core/pod.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { rankForDeletion } from './deletion-rank.ts';

const nowMs = Date.UTC(2026, 0, 2);
const ago = (seconds: number): string => new Date(nowMs - seconds * 1000).toISOString().replace('.000Z', 'Z');
const status = (ready: boolean, readyAgo = 60, restarts = 0, phase = 'Running'): object => ({
  phase,
  conditions: [{ type: 'Ready', status: ready ? 'True' : 'False', lastTransitionTime: ago(readyAgo) }],
  containerStatuses: [{ name: 'main', ready, restartCount: restarts, image: 'x', imageID: 'x' }],
});
const pod = (uid: string, changes: Record<string, unknown>): Pod =>
  buildPod({
    'metadata.name': uid,
    'metadata.uid': uid,
    'metadata.creationTimestamp': ago(3600),
    'spec.nodeName': `node-of-${uid}`,
    status: status(true),
    ...changes,
  });

for (const [why, first, second] of [
  ['no node before a node', { 'spec.nodeName': undefined }, { status: status(false, 60, 0, 'Pending') }],
  ['pending before unknown', { status: status(false, 60, 0, 'Pending') }, { status: status(false, 60, 0, 'Unknown') }],
  ['unknown before running', { status: status(false, 60, 0, 'Unknown') }, { status: status(false) }],
  [
    'not ready before ready',
    { status: status(false), 'metadata.annotations': { 'controller.kubernetes.io/pod-deletion-cost': '9' } },
    {},
  ],
  [
    'lower cost before higher',
    { 'metadata.annotations': { 'controller.kubernetes.io/pod-deletion-cost': '-5' }, status: status(true, 86_400) },
    {},
  ],
  ['ready for less long before longer', { status: status(true, 10) }, { status: status(true, 1_000, 7) }],
  ['more restarts before fewer', { status: status(true, 60, 3) }, { status: status(true, 60, 1) }],
  ['younger before older', { 'metadata.creationTimestamp': ago(60) }, { 'metadata.creationTimestamp': ago(3600) }],
  [
    'ages of one order of size by uid',
    { 'metadata.creationTimestamp': ago(3600) },
    { 'metadata.creationTimestamp': ago(3590) },
  ],
] as const) {
  it(`gives up ${why}`, () => {
    const pods = [pod('a', first), pod('b', second)];
    assert.deepEqual(
      rankForDeletion(pods.toReversed(), pods, nowMs).map(({ metadata }) => metadata.uid),
      ['a', 'b'],
    );
  });
}

it('gives up pods that share a node with more of the workload first, those of other sets counted', () => {
  const on = (uid: string, nodeName: string): Pod => pod(uid, { 'spec.nodeName': nodeName });
  const pods = [on('alone', 'n1'), on('one-of-three', 'n2'), on('one-of-two', 'n3')];
  const related = [...pods, on('x', 'n2'), on('y', 'n2'), on('z', 'n3')];
  assert.deepEqual(
    rankForDeletion(pods, related, nowMs).map(({ metadata }) => metadata.uid),
    ['one-of-three', 'one-of-two', 'alone'],
  );
});
