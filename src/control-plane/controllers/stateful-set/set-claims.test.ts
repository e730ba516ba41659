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
/** Beyond the three that are wanted. */
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

it('a pod gets one claim for each template, with the labels of both', () => {
  const template = { ...dataTemplate, metadata: { ...dataTemplate.metadata, labels: { app: 'x', tier: 'disk' } } };
  const [claim, ...others] = buildClaims(buildSet({ volumeClaimTemplates: [template] }), pod);
  assert.deepEqual(others, []);
  assert.deepEqual(claim?.spec, dataTemplate.spec);
  assert.deepEqual([claim?.metadata.name, claim?.metadata.namespace], ['data-db-0', 'default']);
  assert.deepEqual(claim?.metadata.labels, { app: 'db', tier: 'disk' });
  assert.deepEqual(buildClaims(buildSet(), pod), []);
});

it('claims are missing, or leaving, by their names', () => {
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

  it('a claim of an earlier pod is waited for where it goes with that pod', () => {
    assert.equal(stale(keeping('Retain', 'Delete'), podOwner(0, 'earlier')), 'data-db-0');
    assert.equal(stale(keeping('Delete', 'Retain'), podOwner(0, 'earlier')), undefined);
  });

  it('a claim of an earlier pod is none of this pod, of another one, or of no pod', () => {
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

  it('the owners of a claim are none where claims outlive both', () => {
    assert.deepEqual(owners(keep, pod, setOwner, podOwner(0)), []);
    assert.deepEqual(owners(keep, surplus), []);
    assert.deepEqual(owners(keep, pod, other), ['Backup (no controller)']);
    assert.deepEqual(owners(buildSet({ volumeClaimTemplates: [dataTemplate] }), pod, setOwner), []);
  });

  it('the owners of a claim are the set where claims go with it', () => {
    assert.deepEqual(owners(keeping('Delete', 'Retain'), pod), ['StatefulSet']);
    assert.deepEqual(owners(keeping('Delete', 'Retain'), surplus), ['StatefulSet']);
    assert.deepEqual(owners(keeping('Delete', 'Retain'), pod, other, { ...setOwner, controller: false }), [
      'Backup (no controller)',
      'StatefulSet',
    ]);
  });

  it('the owners of a claim are the pod where claims go with surplus pods, and only then', () => {
    assert.deepEqual(owners(keeping('Retain', 'Delete'), surplus), ['Pod']);
    assert.deepEqual(owners(keeping('Retain', 'Delete'), pod), []);
    assert.deepEqual(owners(keeping('Delete', 'Delete'), surplus), ['Pod']);
    assert.deepEqual(owners(keeping('Delete', 'Delete'), pod), ['StatefulSet']);
  });

  it('the owners of a claim are left alone where something else controls the claim', () => {
    const backup = { ...other, controller: true };
    assert.deepEqual(owners(keeping('Delete', 'Delete'), pod, backup, setOwner), ['Backup']);
  });
});

describe('whether something else controls a claim', () => {
  const controlled = (set: StatefulSet, ...given: OwnerReference[]): boolean =>
    hasOtherController(set, pod, buildClaim(0, { owners: given }));
  const set = keeping('Delete', 'Retain');

  it('goes by the controller, and by earlier sets and pods of the names', () => {
    assert.equal(controlled(set), false);
    assert.equal(controlled(set, setOwner, podOwner(0), other), false);
    assert.equal(controlled(set, { ...other, controller: true }), true);
    assert.equal(controlled(set, { ...setOwner, uid: 'earlier', controller: false }), true);
    assert.equal(controlled(set, { ...podOwner(0, 'earlier'), controller: false }), true);
  });

  it('does not matter where claims are kept', () => {
    assert.equal(controlled(keep, { ...other, controller: true }), false);
    assert.equal(controlled(keeping('Retain', 'Delete'), { ...other, controller: true }), true);
  });
});

describe('a claim is out of date', () => {
  const outdated = (set: StatefulSet, ...owners: OwnerReference[]): boolean =>
    outdatedClaims(set, pod, lookUp(buildClaim(0, { owners }))).length > 0;

  it('when it has other owners than the policy says', () => {
    assert.deepEqual([outdated(keep), outdated(keep, setOwner), outdated(keep, podOwner(0))], [false, true, true]);
    const set = keeping('Delete', 'Retain');
    assert.deepEqual([outdated(set), outdated(set, setOwner), outdated(set, podOwner(0))], [true, false, true]);
    assert.deepEqual([outdated(set, setOwner, podOwner(0)), outdated(set, setOwner, other)], [true, false]);
  });

  it('when its owner is not its controller', () => {
    assert.equal(outdated(keeping('Delete', 'Retain'), { ...setOwner, controller: false }), true);
  });

  it('never when it is of an earlier set or pod of the name', () => {
    assert.equal(outdated(keeping('Delete', 'Retain'), { ...setOwner, uid: 'earlier' }), false);
    assert.equal(outdated(keeping('Delete', 'Retain'), podOwner(0, 'earlier')), false);
  });

  it('where something else controls it, only while these are its owners as well', () => {
    const set = keeping('Delete', 'Delete');
    const backup = { ...other, controller: true };
    assert.deepEqual(
      [outdated(set, backup), outdated(set, backup, setOwner), outdated(set, backup, podOwner(0))],
      [false, true, true],
    );
  });
});
