import assert from 'node:assert/strict';
import { test } from 'node:test';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import { unsupportedSteps } from './unsupported-steps.ts';

test('a pod that asks for nothing unsupported has no step', () => {
  assert.deepEqual(unsupportedSteps(buildPod()), []);
});

test('a pod that asks for what is not supported is held, and every such field is named', async () => {
  const pod = buildPod({
    'metadata.uid': podUid('a'),
  });
  const [step, ...more] = unsupportedSteps(pod, [
    { path: 'spec.a', note: 'no a', severity: 'reject' },
    { path: 'spec.b', note: 'weak b', severity: 'warn' },
    { path: 'spec.c', note: 'no c', severity: 'reject' },
  ]);
  assert.equal(more.length, 0);
  const answer = await step?.admit({ pod } as never, new AbortController().signal);
  assert.equal(answer?.kind, 'hold');
  const why = answer.kind === 'hold' ? answer.why : '';
  assert.equal(why, 'not supported yet: spec.a: no a; spec.c: no c');
});
