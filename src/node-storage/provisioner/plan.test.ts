import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolumeClaim } from '../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../api/core/persistent-volume.ts';
import { mayConcernNode, planClaim, VOLUME_FINALIZER, volumeFor } from './plan-claim.ts';
import type { ClaimFacts } from './plan-claim.ts';
import { isOwnVolume, planVolume } from './plan-volume.ts';
import { claimOf, CLASS, NODE, UID } from './testing/builders.ts';
import { isVolumeName, volumeNameOf } from './volume-name.ts';

const facts: ClaimFacts = { nodeName: NODE, hostname: NODE, storageClass: CLASS, volume: undefined };
const volume = volumeFor(claimOf(), { storageClass: CLASS, hostname: NODE, path: `/disk/pvc-${UID}` });
const disk = { hostname: NODE, pathOf: (name: string) => `/disk/${name}` };
const reasonOf = (claim: PersistentVolumeClaim, more: Partial<ClaimFacts> = {}): string | undefined => {
  const plan = planClaim(claim, { ...facts, ...more });
  return plan.kind === 'refuse' ? plan.reason : plan.kind;
};

it('a volume refers to its claim, with the resourceVersion that was read', () => {
  const made = (resourceVersion?: string): unknown => {
    const { metadata, ...rest } = claimOf();
    const claim = { ...rest, metadata: { ...metadata, ...(resourceVersion !== undefined && { resourceVersion }) } };
    return volumeFor(claim, { storageClass: CLASS, hostname: NODE, path: '/disk/x' }).spec.claimRef;
  };
  const { namespace, name, uid } = claimOf().metadata;
  const reference = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', namespace, name, uid };
  assert.deepEqual(made(), reference);
  assert.deepEqual(made('7'), { ...reference, resourceVersion: '7' });
});

describe('planClaim', () => {
  it('provisions a claim whose first pod was scheduled to this node', () => {
    assert.deepEqual(planClaim(claimOf(), facts), {
      kind: 'provision',
      sizeBytes: 2 ** 30,
      volumeName: `pvc-${UID}`,
    });
  });

  for (const [what, claim, more] of [
    ['of another node', claimOf({ selectedNode: 'other' }), {}],
    ['without a node', claimOf({ selectedNode: undefined }), {}],
    ['of another provisioner', claimOf({ provisioner: 'example.com/disk' }), {}],
    [
      'whose class now names another provisioner',
      claimOf(),
      { storageClass: { ...CLASS, provisioner: 'example.com/d' } },
    ],
    ['whose class is gone', claimOf(), { storageClass: undefined }],
    ['of a node that has no hostname yet', claimOf(), { hostname: undefined }],
    ['that is being deleted', claimOf({ deleted: true }), {}],
    ['that has a volume', claimOf({ spec: { volumeName: 'another' } }), {}],
  ] as const)
    it(`leaves a claim ${what}`, () => assert.equal(reasonOf(claim, more), 'nothing'));

  it('refuses what a directory cannot provide, and names the field to change', () => {
    const source = { kind: 'PersistentVolumeClaim', name: 'x' };
    const withParameters = { ...CLASS, parameters: { fsType: 'xfs' } };
    assert.deepEqual(
      [
        reasonOf(claimOf({ spec: { volumeMode: 'Block' } })),
        reasonOf(claimOf({ spec: { selector: {} } })),
        reasonOf(claimOf({ spec: { dataSource: source } })),
        reasonOf(claimOf({ spec: { dataSourceRef: source } })),
        reasonOf(claimOf(), { storageClass: { ...CLASS, mountOptions: ['ro'] } }),
        reasonOf(claimOf(), { storageClass: withParameters }),
        reasonOf(claimOf({ uid: '../../etc' })),
      ].map((reason) => /volumeMode|selector|dataSource|mountOptions|"fsType"|uid/.exec(reason ?? '')?.[0]),
      ['volumeMode', 'selector', 'dataSource', 'dataSource', 'mountOptions', '"fsType"', 'uid'],
    );
  });

  it('expands a bound claim of a volume of this node, and never shrinks it', () => {
    const bound = (size: string): PersistentVolumeClaim => ({
      ...claimOf({ size, spec: { volumeName: volume.metadata.name } }),
      status: { phase: 'Bound', capacity: { storage: '1Gi' } },
    });
    const planOf = (size: string, of: PersistentVolume | undefined) => planClaim(bound(size), { ...facts, volume: of });
    assert.deepEqual(planOf('3Gi', volume), { kind: 'expand', size: '3Gi', sizeBytes: 3 * 2 ** 30, volume });
    assert.equal(planOf('1Gi', volume).kind, 'nothing');
    assert.equal(planOf('3Gi', undefined).kind, 'nothing');
    const ofAnother = { ...volume, spec: { ...volume.spec, claimRef: { ...volume.spec.claimRef, uid: 'another' } } };
    assert.equal(planOf('3Gi', ofAnother).kind, 'nothing');
  });
});

describe('planVolume', () => {
  const at = (
    phase: 'Pending' | 'Available' | 'Bound' | 'Released' | 'Failed',
    { keep = false, deleted = false, finalizers = [VOLUME_FINALIZER] } = {},
  ): PersistentVolume => ({
    ...volume,
    metadata: { ...volume.metadata, finalizers, ...(deleted && { deletionTimestamp: '2026-01-01T00:00:00Z' }) },
    spec: { ...volume.spec, persistentVolumeReclaimPolicy: keep ? 'Retain' : 'Delete' },
    status: { phase },
  });

  it('removes a released volume, and one that is deleted before it was bound', () => {
    assert.equal(planVolume(at('Released')), 'remove');
    assert.equal(planVolume(at('Failed')), 'remove');
    assert.equal(planVolume(at('Available', { deleted: true })), 'remove');
    assert.equal(planVolume(at('Pending', { deleted: true })), 'remove');
    assert.equal(planVolume(at('Available')), 'nothing');
  });

  it('leaves a volume without a phase or without its finalizer alone', () => {
    const { status: _, ...fresh } = at('Pending', { deleted: true });
    assert.equal(planVolume(fresh), 'nothing');
    const { finalizers: _finalizers, ...metadata } = at('Available', { deleted: true }).metadata;
    assert.equal(planVolume({ ...at('Available'), metadata }), 'nothing');
  });

  it('keeps the data of a volume with the policy Retain, whose object may go', () => {
    assert.equal(planVolume(at('Released', { keep: true })), 'nothing');
    assert.equal(planVolume(at('Released', { keep: true, deleted: true })), 'release');
    assert.equal(planVolume(at('Released', { keep: true, deleted: true, finalizers: [] })), 'nothing');
  });

  it('keeps the data of a volume that is bound to a claim, even when the volume is deleted', () => {
    assert.equal(planVolume(at('Bound')), 'nothing');
    assert.equal(planVolume(at('Bound', { deleted: true })), 'nothing');
  });
});

describe('isOwnVolume', () => {
  it('is true for volumes that the provisioner of this node creates', () => assert.ok(isOwnVolume(volume, disk)));

  it('is false for a path, a name or a node that another user wrote into a volume', () => {
    const named = (name: string, path: string): PersistentVolume => ({
      ...volume,
      metadata: { ...volume.metadata, name },
      spec: { ...volume.spec, local: { path } },
    });
    for (const other of [
      named(`pvc-${UID}`, '/etc'),
      named(`pvc-${UID}`, `/disk/pvc-${UID}/../..`),
      named('..', '/disk/..'),
      named('data', '/disk/data'),
      { ...volume, metadata: { ...volume.metadata, annotations: {} } },
      { ...volume, spec: { ...volume.spec, nodeAffinity: undefined } },
    ])
      assert.equal(isOwnVolume(other as PersistentVolume, disk), false);
    assert.equal(isOwnVolume(volume, { ...disk, hostname: 'other' }), false);
  });

  it('is false for a volume of another kind, without labels of a node, or without annotations', () => {
    const { local: _, ...elsewhere } = volume.spec;
    assert.equal(isOwnVolume({ ...volume, spec: elsewhere }, disk), false);
    const { annotations: _annotations, ...metadata } = volume.metadata;
    assert.equal(isOwnVolume({ ...volume, metadata }, disk), false);
    assert.equal(isOwnVolume({ ...volume, spec: { ...volume.spec, nodeAffinity: {} } }, disk), false);
  });

  it('depends on the label kubernetes.io/hostname; other labels do not matter', () => {
    const on = (
      ...matchExpressions: { key: string; operator: 'In' | 'NotIn' | 'Exists'; values?: string[] }[]
    ): boolean => {
      const nodeAffinity = { required: { nodeSelectorTerms: [{}, { matchExpressions }] } };
      return isOwnVolume({ ...volume, spec: { ...volume.spec, nodeAffinity } }, disk);
    };
    const host = { key: 'kubernetes.io/hostname', operator: 'In' as const, values: [NODE] };
    assert.equal(on({ key: 'zone', operator: 'Exists' }, host), true);
    assert.equal(on({ ...host, operator: 'NotIn' }), false);
    assert.equal(on({ ...host, key: 'zone' }), false);
    assert.equal(on({ key: 'kubernetes.io/hostname', operator: 'In' }), false);
  });
});

it('a volume name is pvc- and the claim uid that the API server assigned, and nothing else', () => {
  assert.ok(isVolumeName(volumeNameOf(UID)));
  for (const name of ['pvc-', `pvc-${UID}/..`, `../pvc-${UID}`, `pvc-${UID}\n`, `pvc-${UID.toUpperCase()}`, ''])
    assert.equal(isVolumeName(name), false, name);
});

it('a claim wakes the node that was selected for it; once it has a volume, it wakes every node', () => {
  const isWoken = (claim: PersistentVolumeClaim): boolean => mayConcernNode(claim, NODE);
  assert.deepEqual(
    [
      claimOf(),
      claimOf({ selectedNode: 'other' }),
      claimOf({ selectedNode: undefined }),
      claimOf({ selectedNode: 'other', spec: { volumeName: 'pvc-1' } }),
    ].map(isWoken),
    [true, false, false, true],
  );
});
