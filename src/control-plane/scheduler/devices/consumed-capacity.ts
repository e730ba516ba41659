import { compareParsed, parseQuantity, quantityValue } from '../../../api/quantity.ts';
import type { Quantity } from '../../../api/quantity.ts';
import type { CapacityRequirements } from '../../../api/resource/resource-claim.ts';
import type { DeviceCapacity } from '../../../api/resource/resource-slice.ts';

type Capacities = Readonly<Record<string, DeviceCapacity>>;

/**
 * Computes how much a request consumes of each capacity of a device. Without a requested amount, the policy's default
 * counts, else the whole capacity. Amounts are rounded up to the next valid one. Returns undefined if the device cannot
 * serve the request (upstream: consumable_capacity.go).
 */
export function computeConsumedCapacity(
  asked: CapacityRequirements | undefined,
  capacities: Capacities | undefined,
): ReadonlyMap<string, Quantity> | undefined {
  const requests = new Map(Object.entries(asked?.requests ?? {}));
  const known = new Map(Object.entries(capacities ?? {}));
  for (const name of requests.keys()) if (!known.has(name)) return undefined;
  const consumed = new Map<string, Quantity>();
  for (const [name, capacity] of known) {
    const amount = amountOf(requests.get(name), capacity);
    if (amount === undefined || compareParsed(amount, parseQuantity(capacity.value)) > 0) return undefined;
    consumed.set(name, amount);
  }
  return consumed;
}

/** Returns the consumed amount of one capacity, or undefined if no valid amount is large enough. */
function amountOf(asked: string | undefined, { value, requestPolicy }: DeviceCapacity): Quantity | undefined {
  if (asked === undefined) return parseQuantity(requestPolicy?.default ?? value);
  const amount = parseQuantity(asked);
  if (requestPolicy === undefined) return amount;
  const { default: preset, validRange, validValues = [] } = requestPolicy;
  if (validRange !== undefined) {
    const { min, max, step } = validRange;
    const raised = min === undefined ? amount : raisedTo(amount, parseQuantity(min), step);
    const fits = max === undefined || compareParsed(raised, parseQuantity(max)) <= 0;
    return fits || isSame(raised, preset) ? raised : undefined;
  }
  if (validValues.length === 0) return amount;
  const valid = validValues.map((each) => parseQuantity(each)).find((each) => compareParsed(amount, each) <= 0);
  return valid ?? (isSame(amount, preset) ? amount : undefined);
}

/** Returns the smallest valid amount: at least `min`, and `min` plus a whole number of steps. */
function raisedTo(amount: Quantity, min: Quantity, step: string | undefined): Quantity {
  if (compareParsed(amount, min) <= 0) return min;
  const width = step === undefined ? 0n : BigInt(quantityValue(step));
  if (width <= 0n) return amount;
  const unit = 1_000_000_000n;
  const above = (amount.nanos - min.nanos + unit - 1n) / unit;
  const steps = (above + width - 1n) / width;
  return { nanos: min.nanos + steps * width * unit, format: 'BinarySI' };
}

const isSame = (amount: Quantity, preset: string | undefined): boolean =>
  preset !== undefined && compareParsed(amount, parseQuantity(preset)) === 0;
