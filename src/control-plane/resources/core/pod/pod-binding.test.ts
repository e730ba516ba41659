import assert from 'node:assert/strict';
import test from 'node:test';
import type { Binding } from '../../../../api/core/binding.ts';
import { ApiStatusError } from '../../../../api/status/api-status-error.ts';
import { buildPod } from '../../../../api/testing/pod-builder.ts';
import type { Changes } from '../../../../api/testing/pod-builder.ts';
import { podBinding } from './pod-binding.ts';
import { FakeActionAccess } from '../../testing/fake-action-access.ts';

const binding = (changes: Partial<Binding> = {}): Binding => ({
  metadata: { name: 'web', namespace: 'default', uid: '' },
  target: { kind: 'Node', name: 'n1' },
  ...changes,
});

async function refusal(pod: Changes, body: Binding): Promise<string> {
  try {
    await podBinding.perform(new FakeActionAccess(buildPod(pod)), body);
    return 'bound';
  } catch (error) {
    assert.ok(error instanceof ApiStatusError);
    return `${error.code} ${error.reason}: ${error.message}`;
  }
}

test('a bound pod has its node, the condition that says so, and what the binding brings along', async () => {
  const access = new FakeActionAccess(
    buildPod({ 'metadata.labels': { a: '1', b: '2' }, 'status.phase': 'Pending', 'status.nominatedNodeName': 'n0' }),
  );
  const answer = await podBinding.perform(
    access,
    binding({ metadata: { name: 'web', namespace: 'default', uid: '', annotations: { x: 'y' }, labels: { b: '3' } } }),
  );
  assert.deepEqual(answer, { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success', code: 201 });
  assert.deepEqual(
    [access.pod?.spec.nodeName, access.pod?.metadata.annotations, access.pod?.metadata.labels],
    ['n1', { x: 'y' }, { a: '1', b: '3' }],
  );
  assert.deepEqual(access.pod?.status, {
    phase: 'Pending',
    conditions: [{ type: 'PodScheduled', status: 'True', lastTransitionTime: '2026-01-01T12:00:00Z' }],
  });
});

test('a pod that cannot be bound is refused in the words schedulers know', async () => {
  const of = (why: string): string => `409 Conflict: Operation cannot be fulfilled on pods/binding "web": ${why}`;
  assert.equal(await refusal({ 'spec.nodeName': 'n0' }, binding()), of('pod web is already assigned to node "n0"'));
  assert.equal(
    await refusal({ 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z' }, binding()),
    of('pod web is being deleted, cannot be assigned to a host'),
  );
  assert.equal(
    await refusal({ 'spec.schedulingGates': [{ name: 'a/b' }] }, binding()),
    of('pod web has non-empty .spec.schedulingGates'),
  );
  assert.equal(
    await refusal({}, binding({ metadata: { name: 'web', namespace: 'default', uid: 'other' } })),
    '409 Conflict: Operation cannot be fulfilled on pods "web": Precondition failed: UID in precondition: other, UID in object meta: uid-1',
  );
  assert.equal(
    await refusal({}, binding({ metadata: { name: 'other', namespace: 'default', uid: '' } })),
    '400 BadRequest: name in URL does not match name in Binding object',
  );
  assert.equal(
    await refusal({}, binding({ target: { kind: 'Pod', name: '' } })),
    '422 Invalid: Binding "web" is invalid: [target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>", target.name: Required value]',
  );
});
