import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ResourceClaimTemplate } from '../../../api/resource/resource-claim-template.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { newPodClaim, podOwnsClaim } from './generated-claim.ts';

const template: ResourceClaimTemplate = {
  metadata: { name: 't', namespace: 'default', uid: 't' },
  spec: { metadata: { labels: { own: 'x' }, annotations: { own: 'y' } }, spec: { devices: { requests: [] } } },
};

describe('a generated claim', () => {
  const base = (pod: string, podClaim: string): string | undefined =>
    newPodClaim(buildPod({ 'metadata.name': pod }), podClaim, template).metadata.generateName;

  it('has the spec of the template, and belongs to the pod', () => {
    const { metadata, spec } = newPodClaim(buildPod(), 'dev', template);
    assert.deepEqual(spec, template.spec.spec);
    assert.deepEqual(metadata.labels, { own: 'x' });
    assert.deepEqual(metadata.annotations, { own: 'y', 'resource.kubernetes.io/pod-claim-name': 'dev' });
    assert.deepEqual(metadata.ownerReferences, [
      { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'uid-1', controller: true },
    ]);
    const bare = newPodClaim(buildPod(), 'dev', { ...template, spec: { ...template.spec, metadata: {} } });
    assert.equal('labels' in bare.metadata, false);
  });

  it('is named after the pod and the entry; long names are truncated in proportion', () => {
    assert.equal(base('web', 'dev'), 'web-dev-');
    assert.equal(base('p'.repeat(50), 'c'.repeat(5)), `${'p'.repeat(50)}-ccccc-`);
    assert.equal(base('p'.repeat(51), 'c'.repeat(5)), `${'p'.repeat(50)}-cccc`);
    assert.equal(base('p'.repeat(60), 'c'.repeat(30)), `${'p'.repeat(37)}-${'c'.repeat(18)}`);
  });
});

it('belongs to the pod that controls it, and to the entry for which it was created', () => {
  const pod = buildPod();
  const made = newPodClaim(pod, 'dev', template);
  assert.equal(podOwnsClaim(pod, made), true);
  assert.equal(podOwnsClaim(pod, made, 'dev'), true);
  assert.equal(podOwnsClaim(pod, made, 'other'), false);
  assert.equal(podOwnsClaim(buildPod({ 'metadata.uid': 'earlier' }), made, 'dev'), false);
  const { annotations: _, ...bare } = made.metadata;
  assert.equal(podOwnsClaim(pod, { ...made, metadata: bare }, 'dev'), false);
});
