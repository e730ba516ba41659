import { DueHeap } from '../../../base/due-heap.ts';
import type { DueEntry } from '../../../base/due-heap.ts';
import type { ReplicaSet } from '../../../api/apps/replica-set.ts';
import type { Informer } from '../../../api/client/informer.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { ControlledIndex, controllerRefOf } from '../../controller-runtime/controller-ref.ts';
import { membershipOf } from './replica-counts.ts';
import type { PodMembership, ReplicaCounts } from './replica-counts.ts';

/**
 * The number of cancelled entries in a set's heap, in addition to one per active pod, after which everything is
 * recounted.
 */
const MOST_CANCELLED = 1000;

/** The contribution of a pod, so that exactly this can be subtracted. */
interface Counted {
  readonly tally: SetTally;
  readonly membership: PodMembership;
  /** Set while it is ready but not available yet. */
  waiting: DueEntry | undefined;
}

/**
 * Incremental counts of each set's pods. Invariants: 1. `of` equals `countReplicas` over the pods that the set controls
 * in the informer. 2. A change of a pod has constant cost. The first query for a set, and the first after a change of
 * its spec or after the wall clock was set back, count all pods. 3. Deleted sets and pods leave no state.
 */
export class ReplicaTally {
  readonly #pods: ControlledIndex<Pod>;
  readonly #tallies = new Map<string, SetTally>();
  readonly #counted = new Map<string, Counted>();
  readonly #ends: readonly (() => void)[];

  constructor(sets: Informer<ReplicaSet>, pods: Informer<Pod>) {
    this.#pods = new ControlledIndex(pods);
    this.#ends = [
      sets.addHandlers({ onDelete: ({ metadata }) => void this.#tallies.delete(metadata.uid) }),
      pods.addHandlers({
        onAdd: (pod) => this.#put(pod),
        onUpdate: (_before, after) => this.#put(after),
        // The last state may be newer; the recorded contribution is subtracted.
        onDelete: ({ metadata }) => this.#remove(metadata.uid),
      }),
    ];
  }

  of(replicaSet: ReplicaSet, nowMs: number): ReplicaCounts {
    const { uid } = replicaSet.metadata;
    let tally = this.#tallies.get(uid);
    if (tally?.isFor(replicaSet, nowMs) !== true) {
      tally = new SetTally(replicaSet);
      this.#tallies.set(uid, tally);
      for (const pod of this.#pods.ofOwner(replicaSet)) this.#put(pod);
    }
    return tally.read(replicaSet, nowMs);
  }

  /** The number of tracked sets and pods. */
  get sizes(): { readonly sets: number; readonly pods: number } {
    return { sets: this.#tallies.size, pods: this.#counted.size };
  }

  stop(): void {
    for (const end of this.#ends) end();
  }

  #put(pod: Pod): void {
    this.#remove(pod.metadata.uid);
    const ref = controllerRefOf(pod);
    const tally = ref === undefined ? undefined : this.#tallies.get(ref.uid);
    const counted = tally?.add(pod);
    if (counted !== undefined) this.#counted.set(pod.metadata.uid, counted);
  }

  #remove(uid: string): void {
    const counted = this.#counted.get(uid);
    if (counted === undefined) return;
    this.#counted.delete(uid);
    counted.tally.remove(counted);
  }
}

class SetTally {
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

  isFor({ spec, metadata }: ReplicaSet, nowMs: number): boolean {
    if (nowMs < this.#readAtMs || this.#cancelled > MOST_CANCELLED + this.#active) return false;
    const known = this.#set;
    return (
      known.spec === spec || (metadata.generation !== undefined && metadata.generation === known.metadata.generation)
    );
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

  /** Undefined if it does not count. */
  add(pod: Pod): Counted | undefined {
    const membership = membershipOf(this.#set, pod);
    if (membership.kind === 'none') return undefined;
    const counted: Counted = { tally: this, membership, waiting: undefined };
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
