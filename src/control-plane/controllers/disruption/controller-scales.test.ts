import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Informer } from '../../../api/client/informer.ts';
import type { ApiObject, ObjectKey } from '../../../api/client/resource-type.ts';
import { configMaps, jobs } from '../../../api/client/resource-types.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { BudgetCounts } from './budget-tally.ts';
import { expectedScale } from './controller-scales.ts';
import type { ScaleSources } from './controller-scales.ts';

const reference = (apiVersion: string, kind: string, name: string, uid = name): OwnerReference => ({
  ...{ apiVersion, kind, name, uid, controller: true },
});
const owned = (name: string, owner?: OwnerReference): Pod =>
  buildPod({ 'metadata.name': name, ...(owner !== undefined && { 'metadata.ownerReferences': [owner] }) });

interface GivenOwner {
  readonly name: string;
  readonly replicas?: number;
  readonly owner?: OwnerReference;
}

/** Returns an informer with the methods that are used here. */
function informerOf<T extends ApiObject>(...given: GivenOwner[]): Informer<T> {
  const objects = given.map(({ name, replicas, owner }) => ({
    metadata: { name, namespace: 'default', uid: name, ...(owner !== undefined && { ownerReferences: [owner] }) },
    spec: replicas === undefined ? {} : { replicas },
  }));
  const get = ({ namespace, name }: ObjectKey): unknown =>
    objects.find(({ metadata }) => metadata.name === name && metadata.namespace === namespace);
  return { get } as unknown as Informer<T>;
}

const deployed = reference('apps/v1', 'Deployment', 'd');
const sources: ScaleSources = {
  deployments: informerOf({ name: 'd', replicas: 7 }),
  replicaSets: informerOf(
    { name: 'rs', replicas: 3 },
    { name: 'rs-one' },
    { name: 'rs-d', replicas: 2, owner: deployed },
    { name: 'rs-d2', replicas: 5, owner: deployed },
    { name: 'rs-gone', replicas: 4, owner: { ...deployed, uid: 'earlier' } },
    { name: 'rs-other', replicas: 6, owner: reference('example.com/v1', 'Deployment', 'd') },
    { name: 'rs-kind', replicas: 8, owner: { ...deployed, kind: 'Rollout' } },
  ),
  statefulSets: informerOf({ name: 'sts', replicas: 5 }),
  replicationControllers: informerOf({ name: 'rc', replicas: 4 }),
  types: [jobs, configMaps],
};
const replicaSet = (name: string, uid = name): OwnerReference => reference('apps/v1', 'ReplicaSet', name, uid);
/** Formats the scale: `7`, `no x` for a controller that does not exist, or the reason why it is unknown. */
function scale(...pods: Pod[]): string {
  const counts = new BudgetCounts({ metadata: { name: 'b', namespace: 'default', uid: 'b' }, spec: {} });
  for (const pod of pods) counts.add(pod);
  const found = expectedScale('default', counts.owners, sources);
  if (found.kind === 'unknown') return found.why;
  return found.kind === 'missing' ? `no ${found.uid}` : String(found.scale);
}

describe('the expected number of pods', () => {
  it('is the desired number of their controllers', () => {
    assert.equal(scale(owned('p', replicaSet('rs'))), '3');
    assert.equal(scale(owned('p', replicaSet('rs-one'))), '1');
    assert.equal(scale(owned('p', deployed)), '7');
    assert.equal(scale(owned('p', reference('apps/v1beta2', 'StatefulSet', 'sts'))), '5');
    assert.equal(scale(owned('p', reference('v1', 'ReplicationController', 'rc'))), '4');
    assert.equal(scale(), '0');
  });

  it('counts each controller once, and adds several controllers', () => {
    const pods = ['a', 'b'].map((name) => owned(name, replicaSet('rs')));
    assert.equal(scale(...pods, owned('c', reference('apps/v1', 'StatefulSet', 'sts'))), '8');
    assert.equal(scale(owned('a', replicaSet('rs-d')), owned('b', replicaSet('rs-d2'))), '7');
  });

  it('is that of the deployment that controls the replica set', () => {
    assert.equal(scale(owned('p', replicaSet('rs-d'))), '7');
    assert.equal(scale(owned('p', replicaSet('rs-gone'))), '4');
    assert.equal(scale(owned('p', replicaSet('rs-other'))), '6');
    assert.equal(scale(owned('p', replicaSet('rs-kind'))), '8');
  });

  it('ignores pods without a controller', () => {
    assert.equal(scale(owned('a'), owned('b', replicaSet('rs')), owned('c')), '3');
  });
});

describe('the expected number is unknown', () => {
  it('if a controller does not exist, or another object has its name', () => {
    for (const owner of [
      replicaSet('none'),
      replicaSet('rs', 'earlier'),
      { ...deployed, uid: 'earlier' },
      reference('apps/v1', 'StatefulSet', 'sts', 'earlier'),
      reference('v1', 'ReplicationController', 'rc', 'earlier'),
    ])
      assert.equal(scale(owned('p', owner)), `no ${owner.uid}`);
  });

  it('for a kind without a scale, or an unknown kind', () => {
    assert.equal(
      scale(owned('p', reference('batch/v1', 'Job', 'j'))),
      'jobs.batch does not implement the scale subresource',
    );
    assert.equal(
      scale(owned('p', reference('v1', 'ConfigMap', 'c'))),
      'configmaps does not implement the scale subresource',
    );
    for (const [apiVersion, kind] of [
      ['example.com/v1', 'ReplicaSet'],
      ['apps/v1', 'Job'],
      ['batch/v1', 'Deployment'],
      ['v1', 'StatefulSet'],
      ['apps/v1', 'ReplicationController'],
      ['v2', 'ReplicationController'],
    ] as const)
      assert.equal(
        scale(owned('p', reference(apiVersion, kind, 'd'))),
        `no matches for kind "${kind}" in version "${apiVersion}"`,
      );
  });
});
