import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { isPodDone, owningPod, planClaim } from './plan-claim.ts';

const FINALIZER = 'resource.kubernetes.io/delete-protection';
const LEAVING = { deletionTimestamp: '2026-01-01T00:00:00Z' };
const allocation = { devices: { results: [{ request: 'r', driver: 'd', pool: 'p', device: 'g0' }] } };

interface Given {
  /** The names of pods for which it is reserved. The UID is the name. */
  readonly users?: readonly string[];
  readonly allocated?: boolean;
  readonly finalizer?: boolean;
  readonly leaving?: boolean;
  /** The UID of the pod `web` for which it was generated. */
  readonly owner?: string;
}

function claim({ users, allocated = true, finalizer = true, leaving = false, owner }: Given): ResourceClaim {
  return {
    metadata: {
      ...{ name: 'c', namespace: 'default', uid: 'c' },
      ...(finalizer && { finalizers: [FINALIZER] }),
      ...(leaving && LEAVING),
      ...(owner !== undefined && {
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'web', uid: owner, controller: true }],
      }),
    },
    spec: { devices: {} },
    status: {
      ...(allocated && { allocation }),
      ...(users !== undefined && { reservedFor: users.map((name) => ({ resource: 'pods', name, uid: name })) }),
    },
  };
}

const pod = (name: string, changes: Record<string, unknown> = {}): Pod =>
  buildPod({ 'metadata.name': name, 'metadata.uid': name, 'spec.nodeName': 'n1', ...changes });
const done = (name: string): Pod => pod(name, { 'status.phase': 'Succeeded' });

/** Formats a plan as `users a b`, `allocated`, `release`, `remove`: the content of the status, and the next writes. */
function planned(given: Given, ...pods: Pod[]): string {
  const { status, release, remove } = planClaim(claim(given), (name) =>
    pods.find(({ metadata }) => metadata.name === name),
  );
  return [
    ...(status === undefined
      ? []
      : [
          `status [${(status.reservedFor ?? []).map(({ name }) => name).join(' ')}]`,
          status.allocation === undefined ? 'free' : 'allocated',
        ]),
    ...(release ? ['release'] : []),
    ...(remove ? ['remove'] : []),
  ].join(' ');
}

describe('a claim', () => {
  it('keeps the users that still run', () => {
    assert.equal(planned({ users: ['a', 'b'] }, pod('a'), pod('b')), '');
    assert.equal(planned({ users: ['a', 'b'] }, pod('a')), 'status [a] allocated');
    assert.equal(planned({ users: ['a', 'b'] }, pod('a'), done('b')), 'status [a] allocated');
    assert.equal(planned({ users: ['a', 'b'] }, pod('a'), pod('b', { 'metadata.uid': 'new' })), 'status [a] allocated');
  });

  it('is deallocated when its last user is gone', () => {
    assert.equal(planned({ users: ['a'] }), 'status [] free release');
    assert.equal(planned({ users: ['a'], allocated: false }), 'status [] free release');
  });

  it('is not deallocated without a finalizer, because the scheduler did not allocate it', () => {
    assert.equal(planned({ users: ['a'], finalizer: false }), 'status [] allocated');
    assert.equal(planned({ finalizer: false, leaving: true }), '');
  });

  it('that was never used stays allocated until it is deleted', () => {
    assert.equal(planned({}), '');
    assert.equal(planned({ leaving: true }), 'status [] free release');
    assert.equal(planned({ leaving: true, allocated: false }), 'release');
    assert.equal(planned({ users: ['a'], leaving: true }, pod('a')), '');
  });

  it('keeps users that are not pods', () => {
    const other = claim({});
    const reservedFor = [
      { apiGroup: 'example.com', resource: 'pods', name: 'x', uid: 'x' },
      { resource: 'jobs', name: 'y', uid: 'y' },
    ];
    const plan = planClaim({ ...other, status: { ...other.status, reservedFor } }, () => undefined);
    assert.deepEqual(plan, { release: false, remove: false });
  });
});

describe('a claim that was generated for a pod', () => {
  it('is deleted when the pod has ended, or when another pod has its name', () => {
    assert.equal(planned({ owner: 'web', finalizer: false }, done('web')), 'remove');
    assert.equal(planned({ owner: 'earlier', finalizer: false }, pod('web')), 'remove');
    assert.equal(planned({ owner: 'web', users: ['web'] }, done('web')), 'status [] free release remove');
  });

  it('stays while the pod runs or others use it, and is left to the garbage collector when the pod is deleted', () => {
    assert.equal(planned({ owner: 'web' }, pod('web')), '');
    assert.equal(planned({ owner: 'web', users: ['a'] }, done('web'), pod('a')), '');
    assert.equal(planned({ owner: 'web' }), '');
    assert.equal(planned({ owner: 'web', finalizer: false, leaving: true }, done('web')), '');
    assert.equal(planned({}, done('web')), '');
  });

  it('is recognized by its controller, a pod', () => {
    const reference = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'web', controller: true };
    const owner = (changes: object): string | undefined => {
      const { metadata, ...rest } = claim({});
      return owningPod({ ...rest, metadata: { ...metadata, ownerReferences: [{ ...reference, ...changes }] } })?.name;
    };
    assert.deepEqual(
      [owner({}), owner({ controller: false }), owner({ apiVersion: 'v2' }), owner({ kind: 'Job' })],
      ['web', undefined, undefined, undefined],
    );
    assert.equal(owningPod(claim({})), undefined);
  });
});

it('a pod no longer uses its claims when it has terminated, or was deleted before it was scheduled', () => {
  assert.equal(isPodDone(pod('a')), false);
  assert.equal(isPodDone(pod('a', { 'status.phase': 'Failed' })), true);
  assert.equal(isPodDone(pod('a', { 'metadata.deletionTimestamp': LEAVING.deletionTimestamp })), false);
  assert.equal(
    isPodDone(pod('a', { 'metadata.deletionTimestamp': LEAVING.deletionTimestamp, 'spec.nodeName': '' })),
    true,
  );
  assert.equal(isPodDone(pod('a', { 'spec.nodeName': undefined })), false);
});
