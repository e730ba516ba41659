import type { ResourceList } from '../core/resource-requirements.ts';
import { addQuantity, compareParsed, formatQuantity, parseQuantity, subtractQuantity } from '../quantity.ts';
import type { Quantity } from '../quantity.ts';

/** A resource list for arithmetic. It is immutable; every function here returns a new one. */
export type Amounts = ReadonlyMap<string, Quantity>;

const NANO = 1_000_000_000n;

export const oneItem: Quantity = { nanos: NANO, format: 'DecimalSI' };
export const noItem: Quantity = { nanos: 0n, format: 'DecimalSI' };

export const itemsOf = (count: number): Quantity => ({ nanos: BigInt(count) * NANO, format: 'DecimalSI' });

export function parseAmounts(list: ResourceList | undefined): Amounts {
  return new Map(Object.entries(list ?? {}).map(([name, text]) => [name, parseQuantity(text)]));
}

export function formatAmounts(amounts: Amounts): ResourceList {
  return Object.fromEntries([...amounts].map(([name, amount]) => [name, formatQuantity(amount)]));
}

export function addAmounts(left: Amounts, right: Amounts): Amounts {
  const sum = new Map(left);
  for (const [name, amount] of right) {
    const before = sum.get(name);
    sum.set(name, before === undefined ? amount : addQuantity(before, amount));
  }
  return sum;
}

/** The left amounts minus the right ones; nothing where the result would be negative. */
export function growthOf(left: Amounts, right: Amounts): Amounts {
  const growth = new Map<string, Quantity>();
  for (const [name, amount] of left) {
    const before = right.get(name);
    const more = before === undefined ? amount : subtractQuantity(amount, before);
    growth.set(name, more.nanos < 0n ? { ...more, nanos: 0n } : more);
  }
  return growth;
}

export function onlyOf(amounts: Amounts, names: ReadonlySet<string>): Amounts {
  return new Map([...amounts].filter(([name]) => names.has(name)));
}

export function withoutZeros(amounts: Amounts): Amounts {
  return new Map([...amounts].filter(([, { nanos }]) => nanos !== 0n));
}

export const negativeOf = (amounts: Amounts): readonly string[] =>
  [...amounts].filter(([, { nanos }]) => nanos < 0n).map(([name]) => name);

/** The names of resources above their limit. Resources without a limit are not checked. */
export function exceeding(amounts: Amounts, limits: Amounts): ReadonlySet<string> {
  const found = new Set<string>();
  for (const [name, amount] of amounts) {
    const limit = limits.get(name);
    if (limit !== undefined && compareParsed(amount, limit) > 0) found.add(name);
  }
  return found;
}

export function sameAmounts(left: Amounts, right: Amounts): boolean {
  return left.size === right.size && [...left].every(([name, { nanos }]) => right.get(name)?.nanos === nanos);
}
