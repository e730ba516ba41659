import type { Informer } from '../../api/client/informer.ts';
import type { ObjectIndex } from '../../api/client/object-store.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { LabelSelector } from '../../api/core/meta.ts';
import { matchesLabelSelector } from '../../api/selectors.ts';

type Pair = readonly [key: string, value: string];

/** Keys and values of labels contain no spaces. */
const nameOf = (namespace: string, [key, value]: Pair): string => `${namespace} ${key} ${value}`;

/** The labels that every selected object must have; none for a selector that only excludes. */
function pairsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Pair[] {
  const pairs: Pair[] = Object.entries(matchLabels);
  for (const { key, operator, values = [] } of matchExpressions) {
    const [only] = values;
    if (operator === 'In' && values.length === 1 && only !== undefined) pairs.push([key, only]);
  }
  return pairs;
}

/** Indexes objects by each label, so that a selector is evaluated without scanning the namespace. */
export class LabelIndex<T extends ApiObject> {
  readonly #informer: Informer<T>;
  readonly #index: ObjectIndex<T>;

  constructor(informer: Informer<T>) {
    this.#informer = informer;
    this.#index = informer.index('label', ({ metadata }) =>
      Object.entries(metadata.labels ?? {}).map((pair) => nameOf(metadata.namespace, pair)),
    );
  }

  /** An absent selector selects nothing, an empty one all of the namespace. */
  select(namespace: string, selector: LabelSelector | undefined): readonly T[] {
    if (selector === undefined) return [];
    const name = this.#rarest(namespace, selector);
    const candidates = name === undefined ? this.#informer.list(namespace) : this.#index.get(name);
    return candidates.filter(({ metadata }) => matchesLabelSelector(selector, metadata.labels ?? {}));
  }

  /** An upper bound of the number of selected objects; cheap if the selector requires a label. */
  countAtMost(namespace: string, selector: LabelSelector | undefined): number {
    if (selector === undefined) return 0;
    const name = this.#rarest(namespace, selector);
    return name === undefined ? this.#informer.size : this.#index.count(name);
  }

  /** The required label with the fewest objects. */
  #rarest(namespace: string, selector: LabelSelector): string | undefined {
    let rarest: string | undefined;
    let fewest = Infinity;
    for (const pair of pairsOf(selector)) {
      const name = nameOf(namespace, pair);
      const count = this.#index.count(name);
      if (count >= fewest) continue;
      fewest = count;
      rarest = name;
    }
    return rarest;
  }
}

/**
 * Indexes objects with selectors by the labels that they require, so that the cost of a change depends only on its
 * labels.
 */
export class SelectorIndex<O extends ApiObject> {
  readonly #index: ObjectIndex<O>;
  readonly #selectorOf: (owner: O) => LabelSelector | undefined;

  /** `selectorOf` returns undefined for an object that selects nothing. `name` is that of the informer's index. */
  constructor(informer: Informer<O>, name: string, selectorOf: (owner: O) => LabelSelector | undefined) {
    this.#selectorOf = selectorOf;
    this.#index = informer.index(name, (owner) => {
      const selector = selectorOf(owner);
      if (selector === undefined) return [];
      const { namespace } = owner.metadata;
      const [first] = pairsOf(selector);
      return [first === undefined ? namespace : nameOf(namespace, first)];
    });
  }

  /** The objects whose selector matches these labels. */
  *selecting(namespace: string, labels: Readonly<Record<string, string>> | undefined): Generator<O> {
    yield* this.#matching(namespace, labels);
    for (const pair of Object.entries(labels ?? {})) yield* this.#matching(nameOf(namespace, pair), labels);
  }

  *#matching(name: string, labels: Readonly<Record<string, string>> | undefined): Generator<O> {
    if (this.#index.count(name) === 0) return;
    for (const owner of this.#index.get(name))
      if (matchesLabelSelector(this.#selectorOf(owner), labels ?? {})) yield owner;
  }
}
