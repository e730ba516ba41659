import type { Informer } from '../../../api/client/informer.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import type { ResourceQuota } from '../../../api/core/resource-quota.ts';
import type { Quantity } from '../../../api/quantity.ts';
import { addAmounts, noItem, onlyOf } from '../../../api/quota/amounts.ts';
import type { Amounts } from '../../../api/quota/amounts.ts';
import { evaluatorOf } from '../../../api/quota/evaluators.ts';
import type { QuotaEvaluator } from '../../../api/quota/evaluators.ts';
import { isInScopes, scopesOf } from '../../../api/quota/quota-usage.ts';

/** A kind that quotas count, and its objects. */
export interface CountedKind {
  readonly type: ResourceType;
  readonly informer: Informer<ApiObject>;
}

/**
 * Tracks the usage of each quota incrementally. Invariants:
 * 1. `of` equals `computeQuotaUsage` over the objects of the quota's namespace in the informers.
 * 2. A change of an object has the same cost in a namespace of any size. The first query for a quota, and the first
 *    after a change of its spec, count all objects.
 * 3. Deleted quotas and objects leave no state.
 */
export class QuotaTally {
  readonly #counted: readonly CountedKind[];
  /** The tallies: namespace → quota UID → tally. */
  readonly #tallies = new Map<string, Map<string, UsageTally>>();
  readonly #ends: readonly (() => void)[];

  constructor(quotas: Informer<ResourceQuota>, counted: readonly CountedKind[]) {
    this.#counted = counted;
    this.#ends = [
      quotas.addHandlers({ onDelete: (quota) => this.#forget(quota) }),
      ...counted.map(({ type, informer }) =>
        informer.addHandlers({
          onAdd: (object) => this.#put(type, object),
          onUpdate: (_before, after) => this.#put(type, after),
          onDelete: ({ metadata: { namespace, uid } }) => {
            for (const tally of this.#of(namespace)) tally.remove(uid);
          },
        }),
      ),
    ];
  }

  of(quota: ResourceQuota, nowMs: number): Amounts {
    const { namespace, uid } = quota.metadata;
    let own = this.#tallies.get(namespace);
    if (own === undefined) this.#tallies.set(namespace, (own = new Map()));
    let tally = own.get(uid);
    if (tally?.isFor(quota) !== true) {
      tally = new UsageTally(quota);
      own.set(uid, tally);
      for (const { type, informer } of this.#counted)
        if (tally.counts(type)) for (const object of informer.list(namespace)) tally.put(type, object);
    }
    return tally.read(nowMs);
  }

  /** The number of quotas, and of the objects that they count. */
  get sizes(): { readonly quotas: number; readonly objects: number } {
    const tallies = [...this.#tallies.values()].flatMap((own) => [...own.values()]);
    return { quotas: tallies.length, objects: tallies.reduce((sum, { size }) => sum + size, 0) };
  }

  stop(): void {
    for (const end of this.#ends) end();
  }

  #of(namespace: string): Iterable<UsageTally> {
    return this.#tallies.get(namespace)?.values() ?? [];
  }

  #put(type: ResourceType, object: ApiObject): void {
    for (const tally of this.#of(object.metadata.namespace)) tally.put(type, object);
  }

  #forget({ metadata: { namespace, uid } }: ResourceQuota): void {
    const own = this.#tallies.get(namespace);
    own?.delete(uid);
    if (own?.size === 0) this.#tallies.delete(namespace);
  }
}

/** An object as it was counted, so that exactly this can be subtracted. */
interface Counted {
  readonly evaluator: QuotaEvaluator;
  readonly object: ApiObject;
  readonly names: ReadonlySet<string>;
}

class UsageTally {
  readonly #quota: ResourceQuota;
  readonly #bounds: string;
  readonly #names: readonly string[];
  readonly #namesOf = new Map<ResourceType, ReadonlySet<string>>();
  readonly #counted = new Map<string, Counted>();
  /**
   * The terminating objects. The usage of a terminating pod ends at some time, so it is computed when the usage is
   * read.
   */
  readonly #leaving = new Map<string, Counted>();
  readonly #sums = new Map<string, Sum>();

  constructor(quota: ResourceQuota) {
    this.#quota = quota;
    this.#bounds = boundsOf(quota);
    this.#names = Object.keys(quota.spec.hard ?? {});
  }

  isFor(quota: ResourceQuota): boolean {
    return quota.spec === this.#quota.spec || boundsOf(quota) === this.#bounds;
  }

  get size(): number {
    return this.#counted.size + this.#leaving.size;
  }

  counts(type: ResourceType): boolean {
    return this.#own(type).size > 0;
  }

  put(type: ResourceType, object: ApiObject): void {
    const { uid, deletionTimestamp } = object.metadata;
    this.remove(uid);
    const names = this.#own(type);
    const evaluator = evaluatorOf(type);
    if (evaluator === undefined || names.size === 0 || !isInScopes(evaluator, object, this.#quota)) return;
    const counted = { evaluator, object, names };
    if (deletionTimestamp !== undefined) this.#leaving.set(uid, counted);
    else {
      this.#counted.set(uid, counted);
      this.#add(counted, 1);
    }
  }

  remove(uid: string): void {
    this.#leaving.delete(uid);
    const counted = this.#counted.get(uid);
    if (counted === undefined) return;
    this.#counted.delete(uid);
    this.#add(counted, -1);
  }

  read(nowMs: number): Amounts {
    let used: Amounts = new Map(this.#names.map((name) => [name, this.#sums.get(name)?.amount ?? noItem]));
    for (const { evaluator, object, names } of this.#leaving.values())
      used = addAmounts(used, onlyOf(evaluator.usage(object, nowMs), names));
    return used;
  }

  /** Adds or subtracts an object that is not terminating. Its usage does not depend on the time. */
  #add({ evaluator, object, names }: Counted, by: 1 | -1): void {
    for (const [name, amount] of onlyOf(evaluator.usage(object, 0), names)) {
      let sum = this.#sums.get(name);
      if (sum === undefined) this.#sums.set(name, (sum = new Sum()));
      sum.add(amount, by);
    }
  }

  #own(type: ResourceType): ReadonlySet<string> {
    let names = this.#namesOf.get(type);
    if (names === undefined) {
      const evaluator = evaluatorOf(type);
      names = new Set(this.#names.filter((name) => evaluator?.counts(name) === true));
      this.#namesOf.set(type, names);
    }
    return names;
  }
}

/** Returns the names and scopes of a quota as a comparable text. */
const boundsOf = (quota: ResourceQuota): string =>
  JSON.stringify([Object.keys(quota.spec.hard ?? {}), scopesOf(quota)]);

/** A sum from which summands can be subtracted again. It is written in the format of its summands. */
class Sum {
  #nanos = 0n;
  readonly #summands = new Map<Quantity['format'], number>();

  get amount(): Quantity {
    const [format = 'DecimalSI'] = this.#summands.keys();
    return { nanos: this.#nanos, format };
  }

  add({ nanos, format }: Quantity, by: 1 | -1): void {
    if (nanos === 0n) return;
    this.#nanos += by === 1 ? nanos : -nanos;
    const count = (this.#summands.get(format) ?? 0) + by;
    if (count === 0) this.#summands.delete(format);
    else this.#summands.set(format, count);
  }
}
