import { addQuantity, parseQuantity, subtractQuantity } from '../../../api/quantity.ts';
import type { Quantity } from '../../../api/quantity.ts';
import { deviceKey } from '../../../api/resource/device-key.ts';
import type { DeviceRequestAllocationResult, ResourceClaim } from '../../../api/resource/resource-claim.ts';

/** The devices that claims use. Keys are `driver/pool/device`. */
export interface DevicesInUse {
  /** Whether a claim has allocated the whole device. */
  isTaken(key: string): boolean;
  /** Whether claims have allocated shares of the device. */
  isShared(key: string): boolean;
  /** Returns the total that all claims consume of each capacity of a shared device. */
  consumed(key: string): ReadonlyMap<string, Quantity>;
}

const nothing: ReadonlyMap<string, Quantity> = new Map();

/**
 * The devices of allocated claims, updated incrementally. The cost of a change is proportional to the claim's devices.
 * Devices with administrative access do not count. With `base`, only the differences are stored.
 */
export class DeviceUse implements DevicesInUse {
  readonly #base: DeviceUse | undefined;
  /**
   * The number of claims that have the device. It can exceed one, because other clients may write invalid allocations.
   */
  readonly #taken = new Map<string, number>();
  readonly #shares = new Map<string, number>();
  readonly #consumed = new Map<string, Map<string, Quantity>>();

  constructor(base?: DeviceUse) {
    this.#base = base;
  }

  set(before: ResourceClaim | undefined, after: ResourceClaim | undefined): void {
    for (const result of resultsOf(before)) this.#change(result, -1);
    for (const result of resultsOf(after)) this.#change(result, 1);
  }

  isTaken(key: string): boolean {
    return this.#holders(key) > 0;
  }

  isShared(key: string): boolean {
    return this.#sharers(key) > 0;
  }

  consumed(key: string): ReadonlyMap<string, Quantity> {
    const base = this.#base?.consumed(key) ?? nothing;
    const own = this.#consumed.get(key);
    if (own === undefined) return base;
    const sum = new Map(base);
    for (const [name, amount] of own) sum.set(name, plus(sum.get(name), amount));
    return sum;
  }

  #holders(key: string): number {
    return (this.#base === undefined ? 0 : this.#base.#holders(key)) + (this.#taken.get(key) ?? 0);
  }

  #sharers(key: string): number {
    return (this.#base === undefined ? 0 : this.#base.#sharers(key)) + (this.#shares.get(key) ?? 0);
  }

  #change(result: DeviceRequestAllocationResult, by: 1 | -1): void {
    const { driver, pool, device, adminAccess, shareID, consumedCapacity = {} } = result;
    if (adminAccess === true) return;
    const key = deviceKey({ driver, pool, device });
    if (shareID === undefined) {
      addTo(this.#taken, key, by);
      return;
    }
    addTo(this.#shares, key, by);
    const amounts = this.#consumed.get(key) ?? new Map<string, Quantity>();
    for (const [name, text] of Object.entries(consumedCapacity)) {
      const amount = parseQuantity(text);
      const sum = by === 1 ? plus(amounts.get(name), amount) : minus(amounts.get(name), amount);
      if (sum.nanos === 0n) amounts.delete(name);
      else amounts.set(name, sum);
    }
    if (amounts.size === 0) this.#consumed.delete(key);
    else this.#consumed.set(key, amounts);
  }
}

function addTo(counts: Map<string, number>, key: string, by: number): void {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
}

const resultsOf = (claim: ResourceClaim | undefined): readonly DeviceRequestAllocationResult[] =>
  claim?.status?.allocation?.devices.results ?? [];
const plus = (known: Quantity | undefined, more: Quantity): Quantity =>
  known === undefined ? more : addQuantity(known, more);
const minus = (known: Quantity | undefined, less: Quantity): Quantity =>
  known === undefined ? { ...less, nanos: -less.nanos } : subtractQuantity(known, less);

/** Collects the devices of an immutable set of claims. */
export function useOfClaims(claims: Iterable<ResourceClaim>): DevicesInUse {
  const use = new DeviceUse();
  for (const claim of claims) use.set(undefined, claim);
  return use;
}
