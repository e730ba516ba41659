import { DueHeap } from '../../../base/due-heap.ts';
import type { DueEntry } from '../../../base/due-heap.ts';
import { SortedList } from '../../../base/sorted-list.ts';
import type { StatefulSet } from '../../../api/apps/stateful-set.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isTerminalPod } from '../../../api/pod.ts';
import { decideClaim } from '../../controller-runtime/controller-ref.ts';
import { isSameSpec } from '../../controller-runtime/member-tally.ts';
import type { MemberCounts } from '../../controller-runtime/member-tally.ts';
import { isPodReady, readySinceMs } from '../../controller-runtime/pod-facts.ts';
import { lacksClaims, outdatedClaims } from './set-claims.ts';
import type { ClaimLookup } from './set-claims.ts';
import { isInRange, isMember, ordinalOf, podName, replicasOf, startOrdinal } from './set-names.ts';
import { isConsistent, revisionOf } from './set-pods.ts';
import type { SetCounts } from './set-status.ts';

/** The number of cancelled entries in a set's heap, in addition to one per pod, after which everything is recounted. */
const MOST_CANCELLED = 1000;

/** What one pod contributes. It changes only with the pod, its claims and the set's spec. */
interface PodFacts {
  readonly ordinal: number;
  readonly revision: string;
  readonly isReplica: boolean;
  readonly isLeaving: boolean;
  readonly isTerminal: boolean;
  readonly isRunningAndReady: boolean;
  /** Whether the plan may contain a step for this pod, whatever the other pods do. */
  readonly needsStep: boolean;
  /** Whether its name is another spelling of its ordinal, such as `db-01`. */
  readonly isOdd: boolean;
  /** The wall time from which on it is available; -Infinity means always, undefined never. */
  readonly availableFromMs: number | undefined;
}

/** The contribution of one pod, as it was counted. */
export type CountedPod =
  | { readonly kind: 'stray' }
  | { readonly kind: 'own'; readonly facts: PodFacts; isAvailable: boolean; waiting: DueEntry | undefined };

type Own = Extract<CountedPod, { kind: 'own' }>;

/** The facts of all pods of a set on which it depends whether a step is due. */
export interface SetOutline {
  /** The number of pods that may need a step of their own, or whose ordinal is unclear. */
  readonly special: number;
  readonly firstMissing: number | undefined;
  /** The lowest replica at which an ordered set stops. */
  readonly firstUnhealthy: number | undefined;
  /** The number and the highest ordinal of the existing replicas that are terminating or not available. */
  readonly unavailable: number;
  readonly lastUnavailable: number | undefined;
  /** The highest replica that must be recreated from the new revision. */
  readonly lastOld: number | undefined;
  /** The highest surplus pods. */
  readonly lastCondemned: number | undefined;
  readonly lastCondemnedLeaving: number | undefined;
  /** The milliseconds until the next ready pod becomes available. */
  readonly nextAvailableMs: number | undefined;
}

const ascending = (): SortedList<number> => new SortedList((left, right) => left - right);

/**
 * The pods of one StatefulSet: its counts, and the ordinals at which its plan can have steps. A change of one pod moves
 * the ordinal of this pod in a few sorted lists.
 */
export class SetMembers implements MemberCounts<StatefulSet, Pod, CountedPod> {
  #set: StatefulSet;
  readonly #claimOf: ClaimLookup;
  readonly #replicas = ascending();
  readonly #unhealthy = ascending();
  readonly #unavailable = ascending();
  readonly #condemned = ascending();
  readonly #condemnedLeaving = ascending();
  /** The replicas from the partition on that are not terminating, by revision. */
  readonly #updatable = new Map<string, SortedList<number>>();
  /** The number of pods by revision, and of those that are not terminating. */
  readonly #revisions = new Map<string, { all: number; staying: number }>();
  readonly #heap = new DueHeap();
  #all = 0;
  #ready = 0;
  #available = 0;
  #special = 0;
  #strays = 0;
  #cancelled = 0;
  #readAtMs = -Infinity;

  constructor(set: StatefulSet, claimOf: ClaimLookup) {
    this.#set = set;
    this.#claimOf = claimOf;
  }

  /** Pods that have become available stay so until the wall clock is set back. */
  isFor(set: StatefulSet, nowMs: number): boolean {
    if (nowMs < this.#readAtMs || this.#cancelled > MOST_CANCELLED + this.#all) return false;
    return isSameSpec(this.#set, set) && isBeingDeleted(this.#set) === isBeingDeleted(set);
  }

  add(pod: Pod): CountedPod | undefined {
    const claim = decideClaim(this.#set, this.#set.spec.selector, pod, isMember(this.#set, pod));
    if (claim === 'release') {
      this.#strays++;
      return { kind: 'stray' };
    }
    if (claim !== 'own') return undefined;
    const facts = podFacts(this.#set, pod, this.#claimOf);
    const own: Own = { kind: 'own', facts, isAvailable: facts.availableFromMs === -Infinity, waiting: undefined };
    this.#count(facts, 1);
    this.#place(own, 'add');
    if (facts.availableFromMs === undefined || own.isAvailable) return own;
    own.waiting = this.#heap.add(facts.availableFromMs, () => {
      own.waiting = undefined;
      this.#place(own, 'delete');
      own.isAvailable = true;
      this.#place(own, 'add');
    });
    return own;
  }

  remove(counted: CountedPod): void {
    if (counted.kind === 'stray') {
      this.#strays--;
      return;
    }
    this.#count(counted.facts, -1);
    this.#place(counted, 'delete');
    if (counted.waiting === undefined) return;
    counted.waiting.fire = undefined;
    this.#cancelled++;
  }

  /** The number of pods that no longer belong to the set and must be released. */
  get strays(): number {
    return this.#strays;
  }

  /** The revisions of all pods. */
  get revisions(): Iterable<string> {
    return this.#revisions.keys();
  }

  /** Returns the counts of the status. */
  counts(current: string, update: string): SetCounts {
    return {
      all: this.#all,
      ready: this.#ready,
      available: this.#available,
      current: this.#revisions.get(current)?.staying ?? 0,
      updated: this.#revisions.get(update)?.staying ?? 0,
    };
  }

  outline(set: StatefulSet, update: string, nowMs: number): SetOutline {
    this.#set = set;
    this.#readAtMs = nowMs;
    for (let due = this.#heap.takeDue(nowMs); due !== undefined; due = this.#heap.takeDue(nowMs)) due();
    const next = this.#heap.peek();
    return {
      special: this.#special,
      firstMissing: this.#firstMissing(),
      firstUnhealthy: this.#unhealthy.first,
      unavailable: this.#unavailable.size,
      lastUnavailable: this.#unavailable.last,
      lastOld: this.#lastOld(update),
      lastCondemned: this.#condemned.last,
      lastCondemnedLeaving: this.#condemnedLeaving.last,
      nextAvailableMs: next === undefined ? undefined : next.dueMs - nowMs,
    };
  }

  #firstMissing(): number | undefined {
    const start = startOrdinal(this.#set);
    // The replicas before the first gap have the ordinals that follow from their places.
    let low = 0;
    let high = this.#replicas.size;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.#replicas.at(middle) === start + middle) low = middle + 1;
      else high = middle;
    }
    return low < replicasOf(this.#set) ? start + low : undefined;
  }

  #lastOld(update: string): number | undefined {
    let last: number | undefined;
    for (const [revision, ordinals] of this.#updatable)
      if (revision !== update && ordinals.last !== undefined) last = Math.max(last ?? ordinals.last, ordinals.last);
    return last;
  }

  #count(facts: PodFacts, by: 1 | -1): void {
    this.#all += by;
    if (facts.isRunningAndReady) this.#ready += by;
    if (facts.needsStep || facts.isOdd) this.#special += by;
    const known = this.#revisions.get(facts.revision) ?? { all: 0, staying: 0 };
    known.all += by;
    if (!facts.isLeaving) known.staying += by;
    if (known.all === 0) this.#revisions.delete(facts.revision);
    else this.#revisions.set(facts.revision, known);
  }

  #place({ facts, isAvailable }: Own, how: 'add' | 'delete'): void {
    const { ordinal, revision, isLeaving, isRunningAndReady } = facts;
    if (isRunningAndReady && isAvailable) this.#available += how === 'add' ? 1 : -1;
    // Two such pods may have the same ordinal. While there are any, each pass reads all pods.
    if (facts.isOdd) return;
    if (!facts.isReplica) {
      (isLeaving ? this.#condemnedLeaving : this.#condemned)[how](ordinal);
      return;
    }
    this.#replicas[how](ordinal);
    if (isLeaving || !isAvailable) this.#unavailable[how](ordinal);
    if (isLeaving || !isAvailable || !isRunningAndReady || facts.isTerminal) this.#unhealthy[how](ordinal);
    if (isLeaving || ordinal < startOrdinal(this.#set) + partitionOf(this.#set)) return;
    const ordinals = this.#updatable.get(revision) ?? ascending();
    ordinals[how](ordinal);
    if (ordinals.size === 0) this.#updatable.delete(revision);
    else this.#updatable.set(revision, ordinals);
  }
}

const isBeingDeleted = ({ metadata }: StatefulSet): boolean => metadata.deletionTimestamp !== undefined;

const partitionOf = ({ spec }: StatefulSet): number => spec.updateStrategy?.rollingUpdate?.partition ?? 0;

function podFacts(set: StatefulSet, pod: Pod, claimOf: ClaimLookup): PodFacts {
  const ordinal = ordinalOf(pod) ?? 0;
  const isReplica = isInRange(set, ordinal);
  const isLeaving = pod.metadata.deletionTimestamp !== undefined;
  const isTerminal = isTerminalPod(pod);
  const isReady = isPodReady(pod);
  const { minReadySeconds = 0 } = set.spec;
  const sinceMs = isReady && minReadySeconds > 0 ? readySinceMs(pod) : undefined;
  return {
    ordinal,
    revision: revisionOf(pod),
    isReplica,
    isLeaving,
    isTerminal,
    isRunningAndReady: pod.status?.phase === 'Running' && isReady,
    needsStep:
      (isReplica && isTerminal && !isLeaving) ||
      (isReplica && !isConsistent(set, pod)) ||
      (isReplica && (pod.status?.phase ?? 'Pending') === 'Pending' && lacksClaims(set, pod, claimOf)) ||
      outdatedClaims(set, pod, claimOf).length > 0,
    isOdd: podName(set, ordinal) !== pod.metadata.name,
    availableFromMs: !isReady
      ? undefined
      : minReadySeconds === 0
        ? -Infinity
        : sinceMs === undefined
          ? undefined
          : sinceMs + minReadySeconds * 1000,
  };
}
