import { findCondition } from '../../api/conditions.ts';
import type { Pod } from '../../api/core/pod.ts';
import type { Service } from '../../api/core/service.ts';

/** The annotation of Endpoints and EndpointSlices with the time of the change that caused their last write. */
export const LAST_CHANGE_TRIGGER_TIME = 'endpoints.kubernetes.io/last-change-trigger-time';

interface Known {
  /** The time of the last change of readiness, by the UID of the pod. */
  readonly pods: Map<string, string>;
  readonly serviceUid: string;
}

/** The pods that a pass reads. */
export interface TriggerScope {
  readonly pods: readonly Pod[];
  /** The UIDs of all pods that the pass covers, also of deleted ones. Absent: `pods` are all pods of the service. */
  readonly uids?: Iterable<string>;
}

/**
 * Computes when the change happened that a pass publishes: when the service was created, or a pod became ready or not
 * ready (upstream: TriggerTimeTracker). A client derives from it how long the network took to follow.
 */
export class TriggerTimes {
  readonly #known = new Map<string, Known>();

  /**
   * Returns the earliest change since the last pass over this service, as a timestamp, or undefined if no change has a
   * time. The first pass returns the creation of the service.
   */
  take(key: string, service: Service, { pods, uids }: TriggerScope): string | undefined {
    const { creationTimestamp, uid } = service.metadata;
    const known = this.#known.get(key);
    const isNew = known === undefined || known.serviceUid !== uid;
    const before = isNew ? new Map<string, string>() : known.pods;
    const changed = pods
      .map((pod) => ({ uid: pod.metadata.uid, time: readyTime(pod) }))
      .filter((each): each is { uid: string; time: string } => each.time !== undefined);
    const times = changed.filter((each) => each.time > (before.get(each.uid) ?? '')).map(({ time }) => time);
    const after = uids === undefined ? new Map<string, string>() : before;
    for (const each of uids ?? []) after.delete(each);
    for (const each of changed) after.set(each.uid, each.time);
    this.#known.set(key, { pods: after, serviceUid: uid });
    return isNew ? creationTimestamp : times.sort()[0];
  }

  forget(key: string): void {
    this.#known.delete(key);
  }
}

/** Timestamps of the API have one form, so they compare as texts. */
function readyTime({ status }: Pod): string | undefined {
  return findCondition(status?.conditions, 'Ready')?.lastTransitionTime ?? undefined;
}

/** The annotations with this trigger time, or without one. */
export function withTriggerTime(
  annotations: Readonly<Record<string, string>> | undefined,
  time: string | undefined,
): Record<string, string> {
  const { [LAST_CHANGE_TRIGGER_TIME]: _, ...others } = annotations ?? {};
  return { ...others, ...(time !== undefined && { [LAST_CHANGE_TRIGGER_TIME]: time }) };
}
