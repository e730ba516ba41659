import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { OwnerReference } from '../../../api/core/meta.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { ephemeralVolumes, planEphemeralClaims } from './plan-ephemeral-claims.ts';

const owner: OwnerReference = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'uid-1', controller: true };
const spec = {
  accessModes: ['ReadWriteOnce' as const],
  resources: { requests: { storage: '1Gi' } },
  volumeMode: 'Filesystem' as const,
};
const volume = (name: string, metadata?: object): object => ({
  name,
  ephemeral: { volumeClaimTemplate: { spec, ...(metadata !== undefined && { metadata }) } },
});
const claim = (name: string, ownerReferences: OwnerReference[] = [owner]): PersistentVolumeClaim => ({
  metadata: { name, namespace: 'default', uid: name, ownerReferences },
  spec,
});

function planned(
  volumes: readonly object[],
  ...claims: PersistentVolumeClaim[]
): ReturnType<typeof planEphemeralClaims> {
  const pod = buildPod({ 'spec.volumes': volumes });
  return planEphemeralClaims(pod, owner, (name) => claims.find(({ metadata }) => metadata.name === name));
}
const created = (...[volumes, ...claims]: Parameters<typeof planned>): string =>
  planned(volumes, ...claims)
    .create.map((each) => `${each.volume} ${each.claim.metadata.name}`)
    .join(', ');

describe('the claims of a pod for its ephemeral volumes', () => {
  it('are built from their templates, and belong to the pod', () => {
    const metadata = { labels: { a: 'b' }, annotations: { c: 'd' } };
    assert.deepEqual(planned([volume('data', metadata)]), {
      create: [
        {
          volume: 'data',
          claim: {
            metadata: { name: 'web-data', namespace: 'default', uid: '', ownerReferences: [owner], ...metadata },
            spec,
          },
        },
      ],
    });
    const { metadata: bare } = planned([volume('data')]).create[0]?.claim ?? {};
    assert.deepEqual(Object.keys(bare ?? {}), ['name', 'namespace', 'uid', 'ownerReferences']);
  });

  it('are only created if they do not exist', () => {
    const volumes = [volume('a'), { name: 'tmp', emptyDir: {} }, volume('b')];
    assert.equal(created(volumes), 'a web-a, b web-b');
    assert.equal(created(volumes, claim('web-a')), 'b web-b');
    assert.equal(created([{ name: 'tmp', emptyDir: {} }]), '');
    assert.equal(created([{ name: 'x', ephemeral: {} }, volume('a')]), 'a web-a');
  });

  it('are not created after a claim that has another owner', () => {
    const plan = planned([volume('a'), volume('b'), volume('c')], claim('web-b', []));
    assert.deepEqual(
      plan.create.map((each) => each.volume),
      ['a'],
    );
    assert.deepEqual(plan.conflict, {
      volume: 'b',
      why: 'PVC default/web-b was not created for pod default/web (pod is not owner)',
    });
  });
});

it('only volumes with a claim template are ephemeral', () => {
  assert.deepEqual(
    ephemeralVolumes(buildPod({ 'spec.volumes': [volume('a'), { name: 'tmp', emptyDir: {} }] })).map(
      ({ name }) => name,
    ),
    ['a'],
  );
  assert.deepEqual(ephemeralVolumes(buildPod({ 'spec.volumes': undefined })), []);
});
