import type { Clock } from '../../../base/clock.ts';
import { sameContent } from '../../../base/same-content.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ContainerStatus, PodCondition, PodStatus } from '../../../api/core/pod-status.ts';
import { waitingReasons } from '../../../api/reasons.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import { timestamp } from './container-statuses.ts';
import type { StatusLine } from './status-record.ts';

/** Called when a new status of a pod was stored. Listeners run at once and must not block. */
export type StatusListener = (change: {
  uid: PodUid;
  pod: Pod;
  status: PodStatus;
  previous: PodStatus | undefined;
}) => void;

interface Stored {
  readonly pod: Pod;
  readonly status: PodStatus;
  readonly version: number;
  /** Identifies the pod until its state is dropped. */
  readonly life: Life;
  /** The conditions that this run saw first. Without a record, their transition time is that moment. */
  readonly assumed: ReadonlySet<string>;
  /** The conditions that have not changed since the record of an earlier run was read. */
  readonly recorded: ReadonlySet<string>;
}

/** One life of a pod in this run of the agent. `startTime` is the time of its first status. */
interface Life {
  readonly startTime: string | undefined;
}

export interface StatusManagerOptions {
  /** The statuses published by an earlier run of the agent; each is the basis of a pod's first status. */
  readonly restored?: ReadonlyMap<string, PodStatus>;
  /** Receives each change of what `snapshot` returns, before any listener is notified. */
  readonly record?: (line: StatusLine) => void;
  /** Resolves when all that `record` received is safe from a kill -9, or cannot be made safe now; never rejects. */
  readonly whenRecorded?: () => Promise<void>;
}

/**
 * A recorded status. `version` is that of `StatusManager.version`. `startTimeInRun` is the time of the pod's first
 * status in this run, undefined if only an earlier run has recorded one.
 */
interface Recorded {
  readonly status: PodStatus;
  readonly version: number;
  readonly startTimeInRun?: string;
}

/**
 * Stores the latest status of each pod. It is the only place that does.
 * 1. An equal status is not stored again and notifies no listener.
 * 2. A condition's transition time changes only if its status changes, or if the API server has another time for the
 *    same status: from a run whose record is lost, or a later time than in the record.
 * 3. startTime never changes once set. Without an API server, clients see `startTimeInRun` instead (`PublishedPods`).
 * 4. Versions only increase, so that an uploader knows what it has sent.
 * 5. Clients of the node see only recorded statuses (`recorded`). An agent that starts after a kill -9 begins with the
 *    record, and must not show an older status than a client has seen. The agent itself works with the newest status.
 */
export class StatusManager {
  readonly #clock: Clock;
  readonly #stored = new Map<PodUid, Stored>();
  readonly #listeners = new Set<StatusListener>();
  readonly #restored: Map<string, PodStatus>;
  readonly #record: (line: StatusLine) => void;
  readonly #whenRecorded: (() => Promise<void>) | undefined;
  readonly #recorded = new Map<string, Recorded>();
  readonly #recordListeners = new Set<StatusListener>();

  constructor(clock: Clock, { restored, record, whenRecorded }: StatusManagerOptions = {}) {
    this.#clock = clock;
    this.#restored = new Map(restored);
    this.#record = record ?? (() => undefined);
    this.#whenRecorded = whenRecorded;
    for (const [uid, status] of this.#restored) this.#recorded.set(uid, { status, version: 0 });
  }

  onChange(listener: StatusListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  get(uid: PodUid): PodStatus | undefined {
    return this.#stored.get(uid)?.status ?? this.#restored.get(uid);
  }

  /** Returns the newest recorded status of the pod, which clients may see. */
  recorded(uid: PodUid): Recorded | undefined {
    return this.#recorded.get(uid);
  }

  /**
   * Adds a listener that is called when a status is recorded. Changes of a pod whose state is dropped in the meantime
   * are omitted.
   */
  onRecorded(listener: StatusListener): () => void {
    this.#recordListeners.add(listener);
    return () => this.#recordListeners.delete(listener);
  }

  version(uid: PodUid): number {
    return this.#stored.get(uid)?.version ?? 0;
  }

  /**
   * Stores a generated status. `startedAtMs` is when the node accepted the pod, for a new pod. Returns whether the
   * status changed.
   */
  set(pod: Pod, generated: PodStatus, startedAtMs?: number): boolean {
    const uid = podUid(pod.metadata.uid ?? '');
    const stored = this.#stored.get(uid);
    const previous = this.get(uid);
    const status: PodStatus = {
      ...generated,
      startTime: previous?.startTime ?? pod.status?.startTime ?? timestamp(startedAtMs ?? this.#clock.nowMs()),
    };
    const assumed = new Set<string>();
    const recorded = new Set<string>();
    status.conditions = (generated.conditions ?? []).map((condition) => {
      const last = findSame(previous?.conditions, condition);
      const isUnrecorded =
        stored === undefined ? last === undefined : last !== undefined && stored.assumed.has(condition.type);
      const isRecorded = last !== undefined && (stored === undefined || stored.recorded.has(condition.type));
      if (isRecorded) recorded.add(condition.type);
      // The record of an earlier run may be older than what that run sent to the API server, which may arrive late.
      const published = isUnrecorded || isRecorded ? findSame(pod.status?.conditions, condition) : undefined;
      if (isUnrecorded && published === undefined) assumed.add(condition.type);
      const kept = isRecorded ? later(last, published) : (published ?? last);
      // A pod counts as scheduled from the moment at which the node accepted it.
      const first = condition.type === 'PodScheduled' ? status.startTime : timestamp(this.#clock.nowMs());
      const lastTransitionTime = condition.lastTransitionTime ?? kept?.lastTransitionTime ?? first ?? '';
      return { ...condition, lastTransitionTime };
    });
    if (stored !== undefined && sameContent(stored.status, status)) return false;
    this.#restored.delete(uid);
    const version = (stored?.version ?? 0) + 1;
    const life = stored?.life ?? { startTime: timestamp(this.#clock.nowMs()) };
    this.#stored.set(uid, { pod, status, version, life, assumed, recorded });
    this.#record({ uid, status });
    const change = { uid, pod, status, previous };
    for (const listener of this.#listeners) listener(change);
    const publish = (): void => {
      if (this.#stored.get(uid)?.life === life) this.#publish(change, version, life);
    };
    if (this.#whenRecorded === undefined) publish();
    else void this.#whenRecorded().then(publish);
    return true;
  }

  #publish(change: Parameters<StatusListener>[0], version: number, { startTime }: Life): void {
    this.#recorded.set(change.uid, { status: change.status, version, startTimeInRun: startTime });
    for (const listener of this.#recordListeners) listener(change);
  }

  forget(uid: PodUid): void {
    const wasStored = this.#stored.delete(uid);
    this.#recorded.delete(uid);
    if (this.#restored.delete(uid) || wasStored) this.#record({ gone: uid });
  }

  /**
   * Starts a status for a pod that is over and starts again under its UID. Only the restart counts and the last
   * terminations of its containers are kept (upstream: static pods that are removed and added again; counting continues
   * from the records in the runtime).
   */
  beginAgain(uid: PodUid): void {
    const earlier = this.get(uid);
    this.forget(uid);
    if (earlier === undefined) return;
    const { initContainerStatuses, containerStatuses } = earlier;
    const status: PodStatus = {
      phase: 'Pending',
      initContainerStatuses: initContainerStatuses?.map(startedAgain),
      containerStatuses: containerStatuses?.map(startedAgain),
    };
    this.#restored.set(uid, status);
    this.#recorded.set(uid, { status, version: 0 });
    this.#record({ uid, status });
  }

  /** Drops the statuses of an earlier run for unknown pods. It must be called when every source has reported. */
  forgetRestored(known: Pick<ReadonlySet<PodUid>, 'has'>): void {
    for (const uid of [...this.#restored.keys()]) if (!known.has(uid as PodUid)) this.forget(uid as PodUid);
  }

  /**
   * Returns all statuses to be stored. They preserve start times, restart counts and readiness across a restart of the
   * agent, even for pods that were not seen again yet.
   */
  snapshot(): StatusLine[] {
    const stored = [...this.#stored].map(([uid, { status }]) => ({ uid, status }));
    return [...[...this.#restored].map(([uid, status]) => ({ uid, status })), ...stored];
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

/** Returns the condition with the later transition. Times in RFC 3339 without fractions compare as texts. */
function later(recorded: PodCondition, published: PodCondition | undefined): PodCondition {
  return (published?.lastTransitionTime ?? '') > (recorded.lastTransitionTime ?? '')
    ? (published ?? recorded)
    : recorded;
}

const findSame = (
  conditions: readonly PodCondition[] | undefined,
  { type, status }: PodCondition,
): PodCondition | undefined => conditions?.find((candidate) => candidate.type === type && candidate.status === status);
