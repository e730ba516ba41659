import { isRecord } from '../../base/json-record.ts';
import { canonicalJson } from '../../api/structural/schema-node.ts';
import type { SchemaNode } from '../../api/structural/schema-node.ts';

/** A value with its value before the update, for ratcheting (upstream: cel/common/equality.go CorrelatedObject). */
export class Correlation {
  readonly #value: unknown;
  readonly #old: unknown;
  #isSame: boolean | undefined;

  constructor(value: unknown, old: unknown) {
    this.#value = value;
    this.#old = old;
  }

  /** The result of the comparison, computed once. */
  get isSame(): boolean {
    return (this.#isSame ??= this.#value === this.#old || canonicalJson(this.#value) === canonicalJson(this.#old));
  }

  field(name: string): Correlation | undefined {
    if (!isRecord(this.#value) || !isRecord(this.#old) || !Object.hasOwn(this.#old, name)) return undefined;
    return new Correlation(this.#value[name], this.#old[name]);
  }
}

/** The correlation of a value, or that of its nearest ancestor that has one. */
export interface Ratchet {
  readonly own: Correlation | undefined;
  readonly around: Correlation | undefined;
}

export const noRatchet: Ratchet = { own: undefined, around: undefined };

export function isUnchanged({ own, around }: Ratchet): boolean {
  return (own ?? around)?.isSame === true;
}

/**
 * Returns the correlation of a member of the value. `isRoot`: apiVersion and kind of the object come from the request
 * and never ratchet.
 */
export function ratchetField(at: Ratchet, name: string, isRoot: boolean): Ratchet {
  if (at.own === undefined) return at;
  if (isRoot && (name === 'apiVersion' || name === 'kind')) return noRatchet;
  return { own: at.own.field(name), around: at.own };
}

export function ratchetItem(at: Ratchet, item: unknown, old: { readonly value: unknown } | undefined): Ratchet {
  if (at.own === undefined) return at;
  return { own: old && new Correlation(item, old.value), around: at.own };
}

/** Correlates the items of a list of type map by their keys. */
export function correlateItems(
  node: SchemaNode,
  olds: unknown,
): (item: unknown) => { readonly value: unknown } | undefined {
  if (node.listType !== 'map' || !Array.isArray(olds)) return () => undefined;
  const known = new Map<string, { readonly value: unknown }>();
  for (const value of olds as readonly unknown[]) known.set(keyOf(node, value), { value });
  return (item) => known.get(keyOf(node, item));
}

/** Returns the key of an item. A missing key has its default. */
function keyOf({ listMapKeys, items }: SchemaNode, item: unknown): string {
  if (!isRecord(item)) return '';
  return canonicalJson(
    listMapKeys.map((key) => (Object.hasOwn(item, key) ? item[key] : items?.properties.get(key)?.json.default) ?? null),
  );
}
