import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { PodPaths } from './create-stats.ts';
import { placeOf } from './create-stats.ts';

const pod = buildPod({ 'metadata.uid': 'u1' });
const paths: PodPaths = { of: ({ metadata }) => `/kubepods/pod${metadata.uid}`, top: ['/kubepods'] };

test('containers of a pod are measured below its group', () => {
  assert.deepEqual(placeOf(pod, paths), { path: '/kubepods/podu1', parent: '/kubepods/podu1' });
});

test('without groups of pods, every pod is measured by its containers at the top', () => {
  assert.deepEqual(placeOf(pod, undefined), { path: undefined, parent: '/' });
  assert.deepEqual(placeOf(undefined, undefined), { path: undefined, parent: '/' });
});

test('a pod that the agent does not know is not measured', () => {
  assert.equal(placeOf(undefined, paths), undefined);
});
