import type { Informer } from '../../api/client/informer.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';

/**
 * The incremental counts of one set. `K` is the contribution of a member as it was counted, so that exactly this can be
 * subtracted.
 */
export interface MemberCounts<S, M, K> {
  /** False if a change of the set, or the time, makes the counts invalid: all members are counted again. */
  isFor(set: S, nowMs: number): boolean;
  /** Undefined if it does not count. */
  add(member: M): K | undefined;
  remove(contribution: K): void;
}

export interface MemberTallyOptions<S extends ApiObject, M extends ApiObject, C> {
  readonly sets: Informer<S>;
  readonly members: Informer<M>;
  /** The uids of the sets that the object is a member of, now. */
  readonly setsOf: (member: M) => Iterable<string>;
  /** All members of a set. */
  readonly membersOf: (set: S) => Iterable<M>;
  readonly createCounts: (set: S) => C;
}

interface Counted<C, K> {
  readonly counts: C;
  readonly contribution: K;
}

/**
 * Incremental counts of the members of each set. Invariants: 1. `of` equals counts that are created and given each of
 * `membersOf`. 2. The cost of a change of a member does not depend on the size of its sets. The first query for a set,
 * and the first after its counts became invalid, count all its members. 3. Deleted sets and members leave no state.
 */
export class MemberTally<S extends ApiObject, M extends ApiObject, K, C extends MemberCounts<S, M, K>> {
  readonly #options: MemberTallyOptions<S, M, C>;
  readonly #counts = new Map<string, C>();
  /** By the uid of the member. */
  readonly #counted = new Map<string, readonly Counted<C, K>[]>();
  readonly #ends: readonly (() => void)[];

  constructor(options: MemberTallyOptions<S, M, C>) {
    this.#options = options;
    this.#ends = [
      options.sets.addHandlers({ onDelete: ({ metadata }) => void this.#counts.delete(metadata.uid) }),
      options.members.addHandlers({
        onAdd: (member) => this.#put(member),
        onUpdate: (_before, after) => this.#put(after),
        // The last state may be newer; the recorded contribution is subtracted.
        onDelete: ({ metadata }) => this.#remove(metadata.uid),
      }),
    ];
  }

  of(set: S, nowMs: number): C {
    const { uid } = set.metadata;
    let counts = this.#counts.get(uid);
    if (counts?.isFor(set, nowMs) !== true) {
      counts = this.#options.createCounts(set);
      this.#counts.set(uid, counts);
      for (const member of this.#options.membersOf(set)) this.#put(member);
    }
    return counts;
  }

  /** Counts a member again, after a change of something else that its contribution depends on. */
  recount(member: M): void {
    this.#put(member);
  }

  /** The number of tracked sets and members. */
  get sizes(): { readonly sets: number; readonly members: number } {
    return { sets: this.#counts.size, members: this.#counted.size };
  }

  stop(): void {
    for (const end of this.#ends) end();
  }

  #put(member: M): void {
    const { uid } = member.metadata;
    this.#remove(uid);
    const counted: Counted<C, K>[] = [];
    for (const set of this.#options.setsOf(member)) {
      const counts = this.#counts.get(set);
      const contribution = counts?.add(member);
      if (counts !== undefined && contribution !== undefined) counted.push({ counts, contribution });
    }
    if (counted.length > 0) this.#counted.set(uid, counted);
  }

  #remove(uid: string): void {
    const counted = this.#counted.get(uid);
    if (counted === undefined) return;
    this.#counted.delete(uid);
    for (const { counts, contribution } of counted) counts.remove(contribution);
  }
}

interface WithSpec extends ApiObject {
  readonly spec: unknown;
}

/** Whether the spec is certainly the same; a change of the status or of the metadata keeps it. */
export function isSameSpec(known: WithSpec, { spec, metadata: { generation } }: WithSpec): boolean {
  return known.spec === spec || (generation !== undefined && generation === known.metadata.generation);
}
