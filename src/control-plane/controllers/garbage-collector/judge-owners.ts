import type { OwnerReference } from '../../../api/core/meta.ts';

export const FOREGROUND_FINALIZER = 'foregroundDeletion';
export const ORPHAN_FINALIZER = 'orphan';

/** The state of an owner: it exists, it is absent, or it waits for its dependents to be deleted first. */
export type OwnerState = 'solid' | 'absent' | 'waiting';

export interface JudgedOwner {
  readonly reference: OwnerReference;
  readonly state: OwnerState;
}

export type Judgement =
  | { readonly kind: 'keep' }
  /** An owner remains; references to the others are removed. */
  | { readonly kind: 'dropReferences'; readonly uids: readonly string[] }
  | { readonly kind: 'delete'; readonly policy: 'Background' | 'Foreground' | 'Orphan' };

export interface Dependent {
  readonly finalizers: readonly string[];
  readonly deleting: boolean;
  /** The object has dependents itself. */
  readonly hasDependents: boolean;
}

/**
 * Decides what happens to an object from the states of its owners (upstream: garbagecollector attemptToDeleteItem).
 * Objects without owner references are not touched.
 */
export function judgeByOwners(dependent: Dependent, owners: readonly JudgedOwner[]): Judgement {
  if (owners.length === 0 || dependent.deleting) return { kind: 'keep' };
  const uidsOf = (state: OwnerState): string[] =>
    owners.filter((owner) => owner.state === state).map(({ reference }) => reference.uid);
  const [solid, absent, waiting] = [uidsOf('solid'), uidsOf('absent'), uidsOf('waiting')];
  if (solid.length > 0) {
    const gone = [...absent, ...waiting];
    return gone.length === 0 ? { kind: 'keep' } : { kind: 'dropReferences', uids: gone };
  }
  // The owner waits for all levels below it, so the dependents of this object are deleted first too.
  if (waiting.length > 0 && dependent.hasDependents) return { kind: 'delete', policy: 'Foreground' };
  if (dependent.finalizers.includes(ORPHAN_FINALIZER)) return { kind: 'delete', policy: 'Orphan' };
  return { kind: 'delete', policy: dependent.finalizers.includes(FOREGROUND_FINALIZER) ? 'Foreground' : 'Background' };
}
