import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import {
  buildClaims,
  findStaleClaim,
  hasOtherController,
  lacksClaims,
  leavingClaims,
  outdatedClaims,
  withWantedOwners,
} from './set-claims.ts';
import { buildClaim, buildMember, buildSet, dataTemplate, podOwner, setOwner } from './testing/set-facts.ts';

const pod = buildMember(0, 'new data');
/** A pod beyond the three desired ones. */
const surplus = buildMember(7, 'new data');

function keeping(whenDeleted: 'Retain' | 'Delete', whenScaled: 'Retain' | 'Delete'): StatefulSet {
  return buildSet({
    volumeClaimTemplates: [dataTemplate],
    persistentVolumeClaimRetentionPolicy: { whenDeleted, whenScaled },
  });
}
const keep = keeping('Retain', 'Retain');
const lookUp =
  (...claims: PersistentVolumeClaim[]) =>
  (name: string): PersistentVolumeClaim | undefined =>
    claims.find(({ metadata }) => metadata.name === name);
const other: OwnerReference = { apiVersion: 'example.com/v1', kind: 'Backup', name: 'b', uid: 'b' };

it('a pod has one claim for each template, with the labels of the pod and the template', () => {
  const template = { ...dataTemplate, metadata: { ...dataTemplate.metadata, labels: { app: 'x', tier: 'disk' } } };
  const [claim, ...others] = buildClaims(buildSet({ volumeClaimTemplates: [template] }), pod);
  assert.deepEqual(others, []);
  assert.deepEqual(claim?.spec, dataTemplate.spec);
  assert.deepEqual([claim?.metadata.name, claim?.metadata.namespace], ['data-db-0', 'default']);
  assert.deepEqual(claim?.metadata.labels, { app: 'db', tier: 'disk' });
  assert.deepEqual(buildClaims(buildSet(), pod), []);
});

it('missing and terminating claims are found by their names', () => {
  assert.equal(lacksClaims(keep, pod, lookUp()), true);
  assert.equal(lacksClaims(keep, pod, lookUp(buildClaim(1))), true);
  assert.equal(lacksClaims(keep, pod, lookUp(buildClaim(0))), false);
  assert.equal(lacksClaims(buildSet(), pod, lookUp()), false);
  assert.deepEqual(leavingClaims(keep, pod, lookUp(buildClaim(0, { leaving: true }))), ['data-db-0']);
  assert.deepEqual(leavingClaims(keep, pod, lookUp(buildClaim(0))), []);
});

describe('a claim of an earlier pod', () => {
  const stale = (set: StatefulSet, ...owners: OwnerReference[]): string | undefined =>
    findStaleClaim(set, pod, lookUp(buildClaim(0, { owners })));

  it('is awaited if it is deleted with that pod', () => {
    assert.equal(stale(keeping('Retain', 'Delete'), podOwner(0, 'earlier')), 'data-db-0');
    assert.equal(stale(keeping('Delete', 'Retain'), podOwner(0, 'earlier')), undefined);
  });

  it('is not a claim of this pod, of a pod with another name, or without an owner', () => {
    const set = keeping('Retain', 'Delete');
    assert.equal(stale(set, podOwner(0)), undefined);
    assert.equal(stale(set, podOwner(1, 'earlier')), undefined);
    assert.equal(stale(set, { ...podOwner(0, 'earlier'), kind: 'Backup' }), undefined);
    assert.equal(stale(set, { ...podOwner(0, 'earlier'), apiVersion: 'v2' }), undefined);
    assert.equal(stale(set), undefined);
    assert.equal(findStaleClaim(set, pod, lookUp()), undefined);
  });
});

describe('the owners of a claim', () => {
  const owners = (set: StatefulSet, of: typeof pod, ...given: OwnerReference[]): string[] => {
    const ordinal = of === pod ? 0 : 7;
    const { metadata } = withWantedOwners(set, of, buildClaim(ordinal, { owners: given }));
    return (metadata.ownerReferences ?? []).map(
      ({ kind, controller }) => `${kind}${controller === true ? '' : ' (no controller)'}`,
    );
  };

  it('are none if the policies retain claims', () => {
    assert.deepEqual(owners(keep, pod, setOwner, podOwner(0)), []);
    assert.deepEqual(owners(keep, surplus), []);
    assert.deepEqual(owners(keep, pod, other), ['Backup (no controller)']);
    assert.deepEqual(owners(buildSet({ volumeClaimTemplates: [dataTemplate] }), pod, setOwner), []);
  });

  it('are the set if claims are deleted with it', () => {
    assert.deepEqual(owners(keeping('Delete', 'Retain'), pod), ['StatefulSet']);
    assert.deepEqual(owners(keeping('Delete', 'Retain'), surplus), ['StatefulSet']);
    assert.deepEqual(owners(keeping('Delete', 'Retain'), pod, other, { ...setOwner, controller: false }), [
      'Backup (no controller)',
      'StatefulSet',
    ]);
  });

  it('are the pod if claims are deleted on scale-down, and only for a surplus pod', () => {
    assert.deepEqual(owners(keeping('Retain', 'Delete'), surplus), ['Pod']);
    assert.deepEqual(owners(keeping('Retain', 'Delete'), pod), []);
    assert.deepEqual(owners(keeping('Delete', 'Delete'), surplus), ['Pod']);
    assert.deepEqual(owners(keeping('Delete', 'Delete'), pod), ['StatefulSet']);
  });

  it('are not changed if another object controls the claim', () => {
    const backup = { ...other, controller: true };
    assert.deepEqual(owners(keeping('Delete', 'Delete'), pod, backup, setOwner), ['Backup']);
  });
});

describe('another controller of a claim', () => {
  const controlled = (set: StatefulSet, ...given: OwnerReference[]): boolean =>
    hasOtherController(set, pod, buildClaim(0, { owners: given }));
  const set = keeping('Delete', 'Retain');

  it('is recognized by the controller reference, and by earlier sets and pods of the same names', () => {
    assert.equal(controlled(set), false);
    assert.equal(controlled(set, setOwner, podOwner(0), other), false);
    assert.equal(controlled(set, { ...other, controller: true }), true);
    assert.equal(controlled(set, { ...setOwner, uid: 'earlier', controller: false }), true);
    assert.equal(controlled(set, { ...podOwner(0, 'earlier'), controller: false }), true);
  });

  it('does not matter if claims are retained', () => {
    assert.equal(controlled(keep, { ...other, controller: true }), false);
    assert.equal(controlled(keeping('Retain', 'Delete'), { ...other, controller: true }), true);
  });
});

describe('a claim is out of date', () => {
  const outdated = (set: StatefulSet, ...owners: OwnerReference[]): boolean =>
    outdatedClaims(set, pod, lookUp(buildClaim(0, { owners }))).length > 0;

  it('if its owners differ from the policy', () => {
    assert.deepEqual([outdated(keep), outdated(keep, setOwner), outdated(keep, podOwner(0))], [false, true, true]);
    const set = keeping('Delete', 'Retain');
    assert.deepEqual([outdated(set), outdated(set, setOwner), outdated(set, podOwner(0))], [true, false, true]);
    assert.deepEqual([outdated(set, setOwner, podOwner(0)), outdated(set, setOwner, other)], [true, false]);
  });

  it('if its owner is not its controller', () => {
    assert.equal(outdated(keeping('Delete', 'Retain'), { ...setOwner, controller: false }), true);
  });

  it('but not if it belongs to an earlier set or pod of the same name', () => {
    assert.equal(outdated(keeping('Delete', 'Retain'), { ...setOwner, uid: 'earlier' }), false);
    assert.equal(outdated(keeping('Delete', 'Retain'), podOwner(0, 'earlier')), false);
  });

  it('if another object controls it, only while set or pod are its owners as well', () => {
    const set = keeping('Delete', 'Delete');
    const backup = { ...other, controller: true };
    assert.deepEqual(
      [outdated(set, backup), outdated(set, backup, setOwner), outdated(set, backup, podOwner(0))],
      [false, true, true],
    );
  });
});
