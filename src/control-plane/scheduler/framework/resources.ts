import type { ResourceList } from '../../../api/core/resource-requirements.ts';
import { tryParseQuantity } from '../../../api/quantity.ts';
import { isExtendedResource } from '../../../api/resources.ts';
import { memoizeText } from '../../../base/memoize-text.ts';

/** Resource amounts as numbers. They are exact up to 2^53, which is 8 PiB of memory on one node. */
export interface Resources {
  cpuMillis: number;
  memoryBytes: number;
  ephemeralStorageBytes: number;
  /** Huge pages, extended resources and attachable volumes. */
  readonly scalars: Map<string, number>;
}

export const zeroResources = (): Resources => ({
  cpuMillis: 0,
  memoryBytes: 0,
  ephemeralStorageBytes: 0,
  scalars: new Map(),
});

/**
 * Whether the resource is summed as a scalar (upstream: scheduler/util IsScalarResourceName). Other resources, such as
 * `pods`, are not.
 */
export function isScalarResource(name: string): boolean {
  return (
    name.startsWith('hugepages-') ||
    name.startsWith('attachable-volumes-') ||
    name.includes('kubernetes.io/') ||
    isExtendedResource(name)
  );
}

export function resourcesOf(list: ResourceList | undefined): Resources {
  const total = zeroResources();
  if (list === undefined) return total;
  for (const name of Object.keys(list)) {
    const text = list[name] ?? '0';
    if (name === 'cpu') total.cpuMillis = amountOf(text, true);
    else if (name === 'memory') total.memoryBytes = amountOf(text, false);
    else if (name === 'ephemeral-storage') total.ephemeralStorageBytes = amountOf(text, false);
    else if (isScalarResource(name)) total.scalars.set(name, amountOf(text, false));
  }
  return total;
}

/** Adds `amount` to `total` in place, or subtracts it if `sign` is -1. Scalars that reach zero are removed. */
export function accumulate(total: Resources, amount: Resources, sign: 1 | -1): void {
  total.cpuMillis += sign * amount.cpuMillis;
  total.memoryBytes += sign * amount.memoryBytes;
  total.ephemeralStorageBytes += sign * amount.ephemeralStorageBytes;
  for (const [name, value] of amount.scalars) {
    const sum = (total.scalars.get(name) ?? 0) + sign * value;
    if (sum === 0) total.scalars.delete(name);
    else total.scalars.set(name, sum);
  }
}

export function copyResources(from: Resources): Resources {
  return { ...from, scalars: new Map(from.scalars) };
}

export function amountFor(total: Resources, name: string): number {
  if (name === 'cpu') return total.cpuMillis;
  if (name === 'memory') return total.memoryBytes;
  if (name === 'ephemeral-storage') return total.ephemeralStorageBytes;
  return total.scalars.get(name) ?? 0;
}

const PARSED_LIMIT = 1024;

/** Parsed quantities are cached, because they repeat often. The limit keeps clients from filling the memory. */
const parseAmounts = memoizeText(
  (text): { readonly millis: number; readonly whole: number } => {
    const quantity = tryParseQuantity(text);
    const nanos = typeof quantity === 'string' ? 0n : quantity.nanos;
    return { millis: Number(divideUp(nanos, 1_000_000n)), whole: Number(divideUp(nanos, 1_000_000_000n)) };
  },
  { limit: PARSED_LIMIT },
);

/**
 * Parses a quantity and rounds up, in thousandths for CPU. An invalid quantity counts as 0; the API server accepts
 * none.
 */
export function amountOf(text: string, millis: boolean): number {
  const amounts = parseAmounts(text);
  return millis ? amounts.millis : amounts.whole;
}

function divideUp(value: bigint, by: bigint): bigint {
  return value <= 0n ? value / by : (value + by - 1n) / by;
}
