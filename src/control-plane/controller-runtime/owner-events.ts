import type { Informer } from '../../api/client/informer.ts';
import { formatKey, keyOf } from '../../api/client/resource-type.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { LabelSelector } from '../../api/core/meta.ts';
import { matchesLabelSelector } from '../../api/selectors.ts';
import { controllerRefOf } from './controller-ref.ts';
import type { Expectations } from './expectations.ts';

interface Selecting extends ApiObject {
  readonly spec: { selector?: LabelSelector };
}

export interface OwnerEventsOptions<O extends Selecting, T extends ApiObject> {
  readonly owners: Informer<O>;
  readonly dependents: Informer<T>;
  readonly add: (key: string) => void;
  readonly expectations?: Expectations;
  /** Whether a change of a dependent requires a pass. Absent: always. */
  readonly matters?: (before: T, after: T) => boolean;
  /** Whether a new dependent with an owner requires a pass of that owner. Default true. */
  readonly wakesWhenAdded?: boolean;
}

/**
 * Wakes owners when they or their dependents change: the owner in the controller reference, or, without one, every
 * owner that would adopt the object. Returns the function that unsubscribes.
 */
export function wakeOwners<O extends Selecting, T extends ApiObject>(options: OwnerEventsOptions<O, T>): () => void {
  const { owners, dependents, add, expectations, matters = () => true, wakesWhenAdded = true } = options;
  const wakeOwner = (owner: O): void => add(formatKey(keyOf(owner)));
  const wake = (dependent: T): void => {
    const ref = controllerRefOf(dependent);
    if (ref === undefined) {
      for (const owner of selecting(owners, dependent)) wakeOwner(owner);
    } else if (ref.kind === owners.type.kind) {
      const owner = owners.get({ namespace: dependent.metadata.namespace, name: ref.name });
      if (owner?.metadata.uid === ref.uid) wakeOwner(owner);
    }
  };
  const ends = [
    owners.addHandlers({
      onAdd: wakeOwner,
      onUpdate: (_before, after) => wakeOwner(after),
      onDelete: (last) => {
        expectations?.forget(formatKey(keyOf(last)));
        wakeOwner(last);
      },
    }),
    dependents.addHandlers({
      onAdd: (dependent) => {
        expectations?.observe(
          dependent.metadata.deletionTimestamp === undefined ? 'created' : 'deleted',
          dependent.metadata.uid,
        );
        if (wakesWhenAdded || controllerRefOf(dependent) === undefined) wake(dependent);
      },
      onUpdate: (before, after) => {
        if (after.metadata.deletionTimestamp !== undefined) expectations?.observe('deleted', after.metadata.uid);
        const was = controllerRefOf(before);
        const is = controllerRefOf(after);
        if (was !== undefined && was.uid !== is?.uid) wake(before);
        if (
          is === undefined
            ? was !== undefined || before.metadata.labels !== after.metadata.labels
            : was?.uid !== is.uid || matters(before, after)
        )
          wake(after);
      },
      onDelete: (last) => {
        expectations?.observe('deleted', last.metadata.uid);
        if (controllerRefOf(last) !== undefined) wake(last);
      },
    }),
  ];
  return () => ends.forEach((end) => end());
}

function selecting<O extends Selecting>(owners: Informer<O>, dependent: ApiObject): O[] {
  const labels = dependent.metadata.labels;
  if (labels === undefined) return [];
  return owners.list(dependent.metadata.namespace).filter(({ spec }) => matchesLabelSelector(spec.selector, labels));
}
