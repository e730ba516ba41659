import type { Informer } from '../../../api/client/informer.ts';
import type { OwnerReference } from '../../../api/core/meta.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodDisruptionBudget } from '../../../api/policy/pod-disruption-budget.ts';
import { controllerRefOf } from '../../controller-runtime/controller-ref.ts';
import type { LabelIndex, SelectorIndex } from '../../controller-runtime/label-index.ts';
import { isSameSpec, MemberTally } from '../../controller-runtime/member-tally.ts';
import type { MemberCounts } from '../../controller-runtime/member-tally.ts';
import { isHealthy } from './budget-status.ts';

/** One selected pod. */
interface Counted {
  readonly healthy: boolean;
  readonly owner: OwnerReference | undefined;
}

export type BudgetTally = MemberTally<PodDisruptionBudget, Pod, Counted, BudgetCounts>;

export interface BudgetTallyParts {
  readonly budgets: Informer<PodDisruptionBudget>;
  readonly pods: Informer<Pod>;
  readonly selectable: LabelIndex<Pod>;
  readonly selectors: SelectorIndex<PodDisruptionBudget>;
}

/** Creates incremental counts of the pods that each budget selects. */
export function createBudgetTally({ budgets, pods, selectable, selectors }: BudgetTallyParts): BudgetTally {
  return new MemberTally<PodDisruptionBudget, Pod, Counted, BudgetCounts>({
    sets: budgets,
    members: pods,
    setsOf: ({ metadata: { namespace, labels } }) =>
      [...selectors.selecting(namespace, labels)].map(({ metadata: { uid } }) => uid),
    membersOf: ({ metadata: { namespace }, spec }) => selectable.select(namespace, spec.selector),
    createCounts: (budget) => new BudgetCounts(budget),
  });
}

/** The selected pods of one budget. */
export class BudgetCounts implements MemberCounts<PodDisruptionBudget, Pod, Counted> {
  readonly #budget: PodDisruptionBudget;
  #selected = 0;
  /** The number of healthy pods, including those whose eviction was granted. */
  #healthy = 0;
  #unmanaged = 0;
  readonly #owners = new Map<string, { readonly reference: OwnerReference; pods: number }>();

  constructor(budget: PodDisruptionBudget) {
    this.#budget = budget;
  }

  get selected(): number {
    return this.#selected;
  }

  get healthy(): number {
    return this.#healthy;
  }

  /** The number of pods without a controller. */
  get unmanaged(): number {
    return this.#unmanaged;
  }

  /** The controllers of the pods, without duplicates. */
  get owners(): OwnerReference[] {
    return [...this.#owners.values()].map(({ reference }) => reference);
  }

  isFor(budget: PodDisruptionBudget): boolean {
    return isSameSpec(this.#budget, budget);
  }

  add(pod: Pod): Counted {
    const counted = { healthy: isHealthy(pod), owner: controllerRefOf(pod) };
    this.#count(counted, 1);
    return counted;
  }

  remove(counted: Counted): void {
    this.#count(counted, -1);
  }

  #count({ healthy, owner }: Counted, by: 1 | -1): void {
    this.#selected += by;
    if (healthy) this.#healthy += by;
    if (owner === undefined) {
      this.#unmanaged += by;
      return;
    }
    const known = this.#owners.get(owner.uid);
    if (known === undefined) this.#owners.set(owner.uid, { reference: owner, pods: by });
    else if ((known.pods += by) === 0) this.#owners.delete(owner.uid);
  }
}
