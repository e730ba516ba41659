import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { judgeByOwners } from './judge-owners.ts';
import type { Dependent, OwnerState } from './judge-owners.ts';

const plain: Dependent = { finalizers: [], deleting: false, hasDependents: false };

/** Decides for a dependent. Owners are named by index and state, such as `0 absent`. */
function judged(dependent: Partial<Dependent>, ...owners: OwnerState[]): string {
  const judgement = judgeByOwners(
    { ...plain, ...dependent },
    owners.map((state, index) => ({
      reference: { apiVersion: 'v1', kind: 'ConfigMap', name: 'o', uid: `${index} ${state}` },
      state,
    })),
  );
  if (judgement.kind === 'delete') return `delete ${judgement.policy}`;
  return judgement.kind === 'keep' ? 'keep' : `drop ${judgement.uids.join(', ')}`;
}

describe('an object', () => {
  it('without owners, or that is being deleted, is not changed', () => {
    assert.equal(judged({}), 'keep');
    assert.equal(judged({ deleting: true }, 'absent'), 'keep');
    assert.equal(judged({ deleting: true }, 'solid', 'absent'), 'keep');
  });

  it('stays while one of its owners exists, and loses its references to the others', () => {
    assert.equal(judged({}, 'solid'), 'keep');
    assert.equal(judged({}, 'solid', 'solid'), 'keep');
    assert.equal(judged({}, 'waiting', 'solid', 'absent'), 'drop 2 absent, 0 waiting');
    assert.equal(judged({ hasDependents: true }, 'waiting', 'solid'), 'drop 0 waiting');
  });

  it('is deleted in the background if all its owners are absent', () => {
    assert.equal(judged({}, 'absent'), 'delete Background');
    assert.equal(judged({ hasDependents: true }, 'absent', 'absent'), 'delete Background');
    assert.equal(judged({}, 'absent', 'waiting'), 'delete Background');
  });

  it('waits for its dependents if its owner waits', () => {
    assert.equal(judged({ hasDependents: true }, 'waiting'), 'delete Foreground');
    assert.equal(judged({ hasDependents: true, finalizers: ['orphan'] }, 'waiting'), 'delete Foreground');
    assert.equal(judged({}, 'waiting'), 'delete Background');
  });

  it('is deleted with the propagation policy of its own finalizer', () => {
    assert.equal(judged({ finalizers: ['x', 'orphan'] }, 'absent'), 'delete Orphan');
    assert.equal(judged({ finalizers: ['foregroundDeletion'] }, 'absent'), 'delete Foreground');
    assert.equal(judged({ finalizers: ['foregroundDeletion', 'orphan'] }, 'absent'), 'delete Orphan');
    assert.equal(judged({ finalizers: ['x'] }, 'absent'), 'delete Background');
  });
});
