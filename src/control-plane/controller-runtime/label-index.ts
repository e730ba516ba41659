import type { Informer } from '../../api/client/informer.ts';
import type { ObjectIndex } from '../../api/client/object-store.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { LabelSelector } from '../../api/core/meta.ts';
import { matchesLabelSelector } from '../../api/selectors.ts';

type Pair = readonly [key: string, value: string];

/** Neither keys nor values of labels have a blank. */
const nameOf = (namespace: string, [key, value]: Pair): string => `${namespace} ${key} ${value}`;

/** The labels that every selected object has; none for a selector that only excludes. */
function pairsOf({ matchLabels = {}, matchExpressions = [] }: LabelSelector): Pair[] {
  const pairs: Pair[] = Object.entries(matchLabels);
  for (const { key, operator, values = [] } of matchExpressions) {
    const [only] = values;
    if (operator === 'In' && values.length === 1 && only !== undefined) pairs.push([key, only]);
  }
  return pairs;
}

/** Objects by each of their labels: what a selector selects is found without a search through its namespace. */
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

  /** No fewer than are selected; costs nothing where the selector asks for a label. */
  countAtMost(namespace: string, selector: LabelSelector | undefined): number {
    if (selector === undefined) return 0;
    const name = this.#rarest(namespace, selector);
    return name === undefined ? this.#informer.size : this.#index.count(name);
  }

  /** Of the labels that the selector asks for, the one that the fewest have. */
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

/** Objects with selectors, found by the labels of what they select: a change costs what its labels do. */
export class SelectorIndex<O extends ApiObject> {
  readonly #index: ObjectIndex<O>;
  readonly #selectorOf: (owner: O) => LabelSelector | undefined;

  /** `selectorOf` gives undefined for what selects nothing. `name` is that of the informer's index. */
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

  /** Those that select an object with these labels. */
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
