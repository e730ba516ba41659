import { setOwn } from '../../api/schema/decode.ts';
import { inWrittenOrder, leaf } from './field-set.ts';
import type { FieldSet } from './field-set.ts';

/**
 * The limits of the table: number of subtrees and size of their keys. Beyond them it is cleared: existing sets stay
 * shared, but later ones do not match them.
 */
const MAX_SETS = 20_000;
const MAX_CHARACTERS = 8 * 1024 * 1024;

/**
 * Interns equal subtrees of field sets. The pods of a cluster own the same few sets thousands of times: with 5000 pods
 * that is the difference between 30 MB and 3. Elements are put in the order in which upstream writes them: clients
 * compare the bytes of a set that came as protobuf with one that came as JSON. Sets are
 * immutable, so they can be shared.
 */
export class SharedSets {
  readonly #known = new Map<string, FieldSet>();
  readonly #ids = new WeakMap<FieldSet, number>([[leaf, 0]]);
  #lastId = 0;
  #characters = 0;

  share(set: FieldSet): FieldSet {
    if (this.#ids.has(set)) return set;
    let key = '';
    const elements = Object.keys(set);
    const ordered = inWrittenOrder(elements);
    let isSame = ordered === elements;
    const copy: Record<string, FieldSet> = {};
    for (const element of ordered) {
      const child = set[element] ?? leaf;
      const shared = this.share(child);
      isSame &&= shared === child;
      setOwn(copy, element, shared);
      key += `${element}\n${this.#ids.get(shared) ?? ''}\n`;
    }
    if (key === '') return leaf;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    this.#characters += key.length;
    if (this.#known.size >= MAX_SETS || this.#characters > MAX_CHARACTERS) {
      this.#known.clear();
      this.#characters = key.length;
    }
    const result = isSame ? set : copy;
    this.#known.set(key, result);
    this.#ids.set(result, ++this.#lastId);
    return result;
  }
}
