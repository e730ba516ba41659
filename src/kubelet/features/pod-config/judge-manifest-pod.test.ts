import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { judgeManifestPod } from './judge-manifest-pod.ts';

test('a pod of a manifest is rejected for invalid fields, in all of its fields', () => {
  const pod = buildPod({ 'metadata.name': 'Not_A_Name', 'spec.resourceClaims': [{ name: 'gpu' }] });
  const problems = judgeManifestPod(pod);
  assert.equal(problems[0]?.field, 'metadata.name');
  assert.match(
    problems.map(({ message }) => message).join('\n'),
    /must specify one of: `resourceClaimName`, `resourceClaimTemplateName`/,
  );
});
