import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatefulSetSpec, StatefulSetStatus } from '../../../api/apps/stateful-set.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { buildSetPod, isConsistent, repairedPod, revisionOf } from './set-pods.ts';
import { buildMember, buildSet, buildSetFacts, dataTemplate } from './testing/set-facts.ts';

const { revisions } = buildSetFacts({});
const withClaims = buildSet({ volumeClaimTemplates: [dataTemplate] });
const dataOf = (name: string): object => ({ name: 'data', persistentVolumeClaim: { claimName: `data-${name}` } });

describe('the pod of an ordinal', () => {
  it('is named after the ordinal, and has its labels and a host name in the service', () => {
    const { metadata, spec } = buildSetPod(buildSet(), revisions, 2);
    assert.deepEqual(metadata.labels, {
      app: 'db',
      'statefulset.kubernetes.io/pod-name': 'db-2',
      'apps.kubernetes.io/pod-index': '2',
      'controller-revision-hash': 'new',
    });
    assert.deepEqual([metadata.name, spec.hostname, spec.subdomain, spec.volumes], ['db-2', 'db-2', 'db', undefined]);
    assert.equal('subdomain' in buildSetPod(buildSet({ serviceName: '' }), revisions, 2).spec, false);
  });

  it('has its claims before the volumes of the template, and instead of those with the same names', () => {
    const template = {
      metadata: {},
      spec: buildPod({
        'spec.volumes': [
          { name: 'tmp', emptyDir: {} },
          { name: 'data', emptyDir: {} },
        ],
      }).spec,
    };
    const named = { ...revisions, update: { name: 'new', template } };
    assert.deepEqual(buildSetPod(withClaims, named, 1).spec.volumes, [dataOf('db-1'), { name: 'tmp', emptyDir: {} }]);
  });

  const revisionAt = (ordinal: number, spec: Partial<StatefulSetSpec>, currentReplicas?: number): string => {
    const status: Partial<StatefulSetStatus> = {
      replicas: 3,
      ...(currentReplicas !== undefined && { currentReplicas }),
    };
    const set = { ...buildSet(spec), ...(currentReplicas !== undefined && { status: status as StatefulSetStatus }) };
    return revisionOf(buildSetPod(set, revisions, ordinal));
  };

  it('has the current revision below the partition', () => {
    const partitioned = (partition?: number): Partial<StatefulSetSpec> => ({
      updateStrategy: { type: 'RollingUpdate', rollingUpdate: partition === undefined ? {} : { partition } },
    });
    assert.deepEqual([revisionAt(1, partitioned(2)), revisionAt(2, partitioned(2))], ['old', 'new']);
    assert.deepEqual(
      [
        revisionAt(6, { ordinals: { start: 5 }, ...partitioned(2) }),
        revisionAt(7, { ordinals: { start: 5 }, ...partitioned(2) }),
      ],
      ['old', 'new'],
    );
    assert.equal(revisionAt(0, partitioned(), 3), 'new');
  });

  it('has the current revision for the first currentReplicas ordinals if the strategy has no partition', () => {
    const rolling: Partial<StatefulSetSpec> = { updateStrategy: { type: 'RollingUpdate' } };
    assert.deepEqual(
      [revisionAt(0, rolling, 1), revisionAt(1, rolling, 1), revisionAt(0, rolling)],
      ['old', 'new', 'new'],
    );
  });

  it('has the new revision with OnDelete', () => {
    assert.equal(revisionAt(0, { updateStrategy: { type: 'OnDelete' } }, 3), 'new');
  });
});

describe('a pod of the set', () => {
  it('is consistent with its label and its own claims', () => {
    assert.equal(isConsistent(buildSet(), buildMember(0, 'new')), true);
    assert.equal(isConsistent(withClaims, buildMember(0, 'new data')), true);
    assert.equal(isConsistent(withClaims, buildMember(0, 'new')), false);
    assert.equal(isConsistent(withClaims, buildMember(0, '', { 'spec.volumes': [dataOf('db-1')] })), false);
    assert.equal(
      isConsistent(withClaims, buildMember(0, '', { 'spec.volumes': [{ name: 'data', emptyDir: {} }] })),
      false,
    );
    assert.equal(isConsistent(buildSet(), buildMember(0, '', { 'metadata.labels': undefined })), false);
    assert.equal(
      isConsistent(
        buildSet(),
        buildMember(0, '', { 'metadata.labels': { 'statefulset.kubernetes.io/pod-name': 'db-1' } }),
      ),
      false,
    );
    assert.equal(isConsistent(buildSet(), buildMember('x', '')), false);
  });

  it('is repaired without losing other fields', () => {
    const broken = buildMember(4, '', {
      'metadata.labels': { own: 'x' },
      'spec.volumes': [{ name: 'tmp', emptyDir: {} }],
    });
    const { metadata, spec } = repairedPod(withClaims, broken);
    assert.deepEqual(metadata.labels, {
      own: 'x',
      'statefulset.kubernetes.io/pod-name': 'db-4',
      'apps.kubernetes.io/pod-index': '4',
    });
    assert.deepEqual(spec.volumes, [dataOf('db-4'), ...(broken.spec.volumes ?? [])]);
    assert.deepEqual(spec.containers, broken.spec.containers);
    assert.equal(isConsistent(withClaims, repairedPod(withClaims, broken)), true);
  });

  it('without a revision label has no revision', () => {
    assert.equal(revisionOf(buildPod({ 'metadata.labels': undefined })), '');
    assert.equal(revisionOf(buildMember(0, 'old')), 'old');
  });
});
