import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ControlledIndex, controllerUidsOf } from '../../controller-runtime/controller-ref.ts';
import { MemberTally } from '../../controller-runtime/member-tally.ts';
import { SetMembers } from './set-members.ts';
import type { CountedPod } from './set-members.ts';
import { podNamesOfClaim } from './set-names.ts';

export interface SetTallyParts {
  readonly sets: Informer<StatefulSet>;
  readonly podInformer: Informer<Pod>;
  readonly claims: Informer<PersistentVolumeClaim>;
}

/** The members of each set, kept up to date with its pods and their claims. */
export interface SetTally extends Pick<MemberTally<StatefulSet, Pod, CountedPod, SetMembers>, 'of' | 'sizes'> {
  stop(): void;
}

export function createSetTally({ sets, podInformer, claims }: SetTallyParts): SetTally {
  const index = new ControlledIndex(podInformer);
  const tally = new MemberTally<StatefulSet, Pod, CountedPod, SetMembers>({
    sets,
    members: podInformer,
    setsOf: controllerUidsOf,
    membersOf: (set) => index.ofOwner(set),
    createCounts: (set) => new SetMembers(set, (name) => claims.get({ namespace: set.metadata.namespace, name })),
  });
  const recount = ({ metadata: { namespace, name } }: PersistentVolumeClaim): void => {
    for (const podName of podNamesOfClaim(name)) {
      const pod = podInformer.get({ namespace, name: podName });
      if (pod !== undefined) tally.recount(pod);
    }
  };
  const end = claims.addHandlers({ onAdd: recount, onUpdate: (_before, after) => recount(after), onDelete: recount });
  return {
    of: (set, nowMs) => tally.of(set, nowMs),
    get sizes() {
      return tally.sizes;
    },
    stop: () => {
      end();
      tally.stop();
    },
  };
}
