import { DueHeap } from '../../../base/due-heap.ts';
import type { DueEntry } from '../../../base/due-heap.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ControlledIndex, controllerUidsOf } from '../../controller-runtime/controller-ref.ts';
import { isSameSpec, MemberTally } from '../../controller-runtime/member-tally.ts';
import type { MemberCounts } from '../../controller-runtime/member-tally.ts';
import { membershipOf } from './replica-counts.ts';
import type { PodMembership, ReplicaCounts } from './replica-counts.ts';

/**
 * The number of cancelled entries in a set's heap, in addition to one per active pod, after which everything is
 * recounted.
 */
const MOST_CANCELLED = 1000;

interface Counted {
  readonly membership: PodMembership;
  /** Set while it is ready but not available yet. */
  waiting: DueEntry | undefined;
}

export type ReplicaTally = MemberTally<ReplicaSet, Pod, Counted, SetTally>;

/**
 * Creates incremental counts of each set's pods, equal to what `countReplicas` counts over the pods that the set
 * controls.
 */
export function createReplicaTally(sets: Informer<ReplicaSet>, pods: Informer<Pod>): ReplicaTally {
  const index = new ControlledIndex(pods);
  return new MemberTally<ReplicaSet, Pod, Counted, SetTally>({
    sets,
    members: pods,
    setsOf: controllerUidsOf,
    membersOf: (set) => index.ofOwner(set),
    createCounts: (set) => new SetTally(set),
  });
}

class SetTally implements MemberCounts<ReplicaSet, Pod, Counted> {
  #set: ReplicaSet;
  #active = 0;
  #ready = 0;
  #available = 0;
  #fullyLabeled = 0;
  #terminating = 0;
  #strays = 0;
  readonly #heap = new DueHeap();
  #cancelled = 0;
  #readAtMs = -Infinity;

  constructor(replicaSet: ReplicaSet) {
    this.#set = replicaSet;
  }

  /**
   * Whether the counts are valid at this time. Pods that have become available stay so until the wall clock is set
   * back.
   */
  isFor(replicaSet: ReplicaSet, nowMs: number): boolean {
    if (nowMs < this.#readAtMs || this.#cancelled > MOST_CANCELLED + this.#active) return false;
    return isSameSpec(this.#set, replicaSet);
  }

  read(replicaSet: ReplicaSet, nowMs: number): ReplicaCounts {
    this.#set = replicaSet;
    this.#readAtMs = nowMs;
    for (let due = this.#heap.takeDue(nowMs); due !== undefined; due = this.#heap.takeDue(nowMs)) due();
    const next = this.#heap.peek();
    return {
      active: this.#active,
      ready: this.#ready,
      available: this.#available,
      fullyLabeled: this.#fullyLabeled,
      terminating: this.#terminating,
      strays: this.#strays,
      nextAvailableMs: next === undefined ? undefined : next.dueMs - nowMs,
    };
  }

  add(pod: Pod): Counted | undefined {
    const membership = membershipOf(this.#set, pod);
    if (membership.kind === 'none') return undefined;
    const counted: Counted = { membership, waiting: undefined };
    this.#count(membership, 1);
    if (membership.kind !== 'active' || membership.availableFromMs === undefined) return counted;
    if (membership.availableFromMs === -Infinity) this.#available++;
    else
      counted.waiting = this.#heap.add(membership.availableFromMs, () => {
        counted.waiting = undefined;
        this.#available++;
      });
    return counted;
  }

  remove({ membership, waiting }: Counted): void {
    this.#count(membership, -1);
    if (waiting !== undefined) {
      waiting.fire = undefined;
      this.#cancelled++;
    } else if (membership.kind === 'active' && membership.availableFromMs !== undefined) this.#available--;
  }

  #count(membership: PodMembership, by: 1 | -1): void {
    if (membership.kind === 'stray') this.#strays += by;
    else if (membership.kind === 'terminating') this.#terminating += by;
    else if (membership.kind === 'active') {
      this.#active += by;
      if (membership.fullyLabeled) this.#fullyLabeled += by;
      if (membership.ready) this.#ready += by;
    }
  }
}
