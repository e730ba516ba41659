import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { judgeManifestPod } from './judge-manifest-pod.ts';

test('a pod is rejected for invalid fields, and then for fields this agent does not support yet', () => {
  const pod = buildPod({ 'metadata.name': 'Not_A_Name', 'spec.resourceClaims': [{ name: 'gpu' }] });
  const problems = judgeManifestPod(pod);
  assert.equal(problems[0]?.field, 'metadata.name');
  assert.equal(problems.at(-1)?.field, 'spec.resourceClaims');
  assert.match(problems.at(-1)?.message ?? '', /^Forbidden: not supported by this agent yet: /);
});
