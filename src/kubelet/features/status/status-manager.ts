import type { Clock } from '../../../base/clock.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus, PodCondition, PodStatus } from '../../../api/core/pod-status.ts';
import { waitingReasons } from '../../../api/reasons.ts';
import { podUid, type PodUid } from '../../model/ids.ts';
import { timestamp } from './container-statuses.ts';

/** A new status of a pod was stored. Listeners run at once and must not block. */
export type StatusListener = (change: {
  uid: PodUid;
  pod: Pod;
  status: PodStatus;
  previous: PodStatus | undefined;
}) => void;

interface Stored {
  pod: Pod;
  status: PodStatus;
  /** The status as text, for telling whether a new one differs. */
  text: string;
  version: number;
}

/**
 * The latest status of each pod, and the only place that stores one.
 * 1. An equal status is not stored again and wakes nobody.
 * 2. A condition's transition time changes only when its status does.
 * 3. startTime never changes once set.
 * 4. Versions only grow, so that a later uploader can tell what it has sent.
 */
export class StatusManager {
  readonly #clock: Clock;
  readonly #stored = new Map<PodUid, Stored>();
  readonly #listeners = new Set<StatusListener>();
  readonly #restored: Map<string, PodStatus>;

  /** `restored` is what an earlier run of the agent had published; it serves as the basis of a pod's first status. */
  constructor(clock: Clock, restored: Readonly<Record<string, PodStatus>> = {}) {
    this.#clock = clock;
    this.#restored = new Map(Object.entries(restored));
  }

  onChange(listener: StatusListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get(uid: PodUid): PodStatus | undefined {
    return this.#stored.get(uid)?.status ?? this.#restored.get(uid);
  }

  version(uid: PodUid): number {
    return this.#stored.get(uid)?.version ?? 0;
  }

  /** Stores a generated status. `startedAtMs` is when the node took the pod in, for a pod seen the first time. Returns whether it was new. */
  set(pod: Pod, generated: PodStatus, startedAtMs?: number): boolean {
    const uid = podUid(pod.metadata.uid ?? '');
    const stored = this.#stored.get(uid);
    const previous = this.get(uid);
    const now = timestamp(this.#clock.nowMs()) ?? '';
    const status: PodStatus = {
      ...generated,
      startTime: previous?.startTime ?? pod.status?.startTime ?? timestamp(startedAtMs ?? this.#clock.nowMs()),
    };
    // What an earlier run had published may be older than what the API server was told by it.
    const told = stored === undefined ? (pod.status?.conditions ?? []) : [];
    status.conditions = withTransitionTimes(
      generated.conditions ?? [],
      [...(previous?.conditions ?? []), ...told],
      now,
    );
    const text = JSON.stringify(status);
    if (stored?.text === text) return false;
    this.#restored.delete(uid);
    this.#stored.set(uid, { pod, status, text, version: (stored?.version ?? 0) + 1 });
    for (const listener of this.#listeners) listener({ uid, pod, status, previous });
    return true;
  }

  forget(uid: PodUid): void {
    this.#stored.delete(uid);
    this.#restored.delete(uid);
  }

  /**
   * The pod is over and begins anew under its uid. All that lives on is how often its containers were started and how they ended
   * (upstream: static pods that are taken away and given back; the records that the runtime still has are counted on).
   */
  beginAnew(uid: PodUid): void {
    const earlier = this.get(uid);
    this.forget(uid);
    if (earlier === undefined) return;
    const { initContainerStatuses, containerStatuses } = earlier;
    this.#restored.set(uid, {
      phase: 'Pending',
      initContainerStatuses: initContainerStatuses?.map(startedAgain),
      containerStatuses: containerStatuses?.map(startedAgain),
    });
  }

  /** Drops what an earlier run had published of pods that are not known now. To be called when every source has spoken. */
  forgetRestored(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of [...this.#restored.keys()]) if (!known.has(uid as PodUid)) this.#restored.delete(uid);
  }

  /** For keeping start times, restart counts and readiness across a restart of the agent; of pods not seen again yet, too. */
  snapshot(): Record<string, PodStatus> {
    const stored = [...this.#stored].map(([uid, { status }]) => [uid, status] as const);
    return Object.fromEntries([...this.#restored, ...stored]);
  }
}

function startedAgain({
  name,
  image,
  imageID,
  containerID,
  restartCount,
  state,
  lastState,
}: ContainerStatus): ContainerStatus {
  const terminated = state?.terminated ?? lastState?.terminated;
  return {
    name,
    image,
    imageID,
    ready: false,
    restartCount: containerID === undefined ? restartCount : restartCount + 1,
    state: { waiting: { reason: waitingReasons.containerCreating } },
    lastState: terminated === undefined ? {} : { terminated },
  };
}

function withTransitionTimes(
  conditions: readonly PodCondition[],
  previous: readonly PodCondition[],
  now: string,
): PodCondition[] {
  return conditions.map((condition) => {
    const before = previous.find(
      (candidate) => candidate.type === condition.type && candidate.status === condition.status,
    );
    const lastTransitionTime = before === undefined ? now : before.lastTransitionTime;
    return { ...condition, lastTransitionTime: condition.lastTransitionTime ?? lastTransitionTime };
  });
}
