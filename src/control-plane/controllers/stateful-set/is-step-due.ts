import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import { scaledValue } from '../../controller-runtime/int-or-percent.ts';
import type { SetOutline } from './set-members.ts';
import { replicasOf } from './set-names.ts';
import { isOrdered } from './set-plan.ts';

/**
 * Whether the plan of the set may have steps. If not, `planStatefulSet` over all pods has none, so a pass need not read
 * them. Most changes of pods during a rollout cause no step: the set waits for the pod that it created or deleted.
 */
export function isStepDue(set: StatefulSet, outline: SetOutline): boolean {
  if (set.metadata.deletionTimestamp !== undefined) return false;
  const { special, firstMissing, firstUnhealthy, lastCondemned, lastCondemnedLeaving } = outline;
  if (special > 0) return true;
  if (isOrdered(set) && firstUnhealthy !== undefined)
    return firstMissing !== undefined && firstMissing < firstUnhealthy;
  if (firstMissing !== undefined) return true;
  if (lastCondemned !== undefined) return !isOrdered(set) || lastCondemned > (lastCondemnedLeaving ?? -1);
  // An ordered set starts its update when no pod is left to scale down.
  if (lastCondemnedLeaving !== undefined && isOrdered(set)) return false;
  return isUpdateDue(set, outline);
}

function isUpdateDue({ spec, ...set }: StatefulSet, { lastOld, lastUnavailable, unavailable }: SetOutline): boolean {
  const { type, rollingUpdate } = spec.updateStrategy ?? {};
  if (type === 'OnDelete' || lastOld === undefined) return false;
  if (rollingUpdate?.maxUnavailable === undefined) return lastUnavailable === undefined || lastUnavailable <= lastOld;
  const most = Math.max(1, scaledValue(rollingUpdate.maxUnavailable, replicasOf({ spec, ...set }), 'down'));
  return unavailable < most;
}
