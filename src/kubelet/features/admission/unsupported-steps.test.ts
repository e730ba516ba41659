import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import { unsupportedSteps } from './unsupported-steps.ts';

test('a pod that asks for nothing unsupported has no step', () => {
  assert.deepEqual(unsupportedSteps(buildPod()), []);
});

test('a pod that asks for devices is held, and every unsupported field is named', async () => {
  const pod = buildPod({
    'metadata.uid': podUid('a'),
    'spec.resourceClaims': [{ name: 'gpu' }],
    'spec.containers[0].resources': { claims: [{ name: 'gpu' }] },
  });
  const [step, ...more] = unsupportedSteps(pod);
  assert.equal(more.length, 0);
  const answer = await step?.admit({ pod } as never, new AbortController().signal);
  assert.equal(answer?.kind, 'hold');
  const why = answer.kind === 'hold' ? answer.why : '';
  assert.match(why, /^not supported yet: spec\.containers\[0\]\.resources\.claims: .+; spec\.resourceClaims: /);
});
