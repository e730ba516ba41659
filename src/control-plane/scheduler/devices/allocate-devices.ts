import { addQuantities, addQuantity, compareParsed, compareQuantities, parseQuantity } from '../../../api/quantity.ts';
import type { Quantity } from '../../../api/quantity.ts';
import type { DeviceConstraint } from '../../../api/resource/resource-claim.ts';
import type { DeviceAttribute } from '../../../api/resource/resource-slice.ts';
import { computeConsumedCapacity } from './consumed-capacity.ts';
import type { DevicesInUse } from './device-use.ts';
import { isSelected, isTaintedFor } from './device-needs.ts';
import type { DeviceNeed, RequestNeeds } from './device-needs.ts';
import type { DevicePool, PoolDevice } from './device-pools.ts';

/** The search gives up a node after this many attempts, because it is exponential in the worst case. */
export const MAX_TRIES = 20_000;
/** The limit of attempts for all nodes together, so that one pod cannot delay all others. */
export const MAX_TRIES_OF_POD = 500_000;
/** Upstream's limit of devices per claim. */
const MAX_RESULTS = 32;

export interface ClaimNeeds {
  readonly requests: readonly RequestNeeds[];
  readonly constraints: readonly DeviceConstraint[];
}

export interface Picked {
  readonly need: DeviceNeed;
  readonly device: PoolDevice;
  /** The consumed capacity of a device that several claims share. */
  readonly share: ReadonlyMap<string, Quantity> | undefined;
}

/** The remaining attempts for a pod. Each allocation decrements it. */
export interface TryBudget {
  left: number;
}

/** The picked devices: one list per claim, in the order of the claim's requests. */
export type Picks = readonly (readonly Picked[])[];

/**
 * Allocates devices for all claims together. Returns undefined if the pools do not suffice or `budget` is used up. The
 * search tries alternatives and devices in their order (upstream: structured allocator).
 */
export function allocateDevices(
  claims: readonly ClaimNeeds[],
  pools: readonly DevicePool[],
  inUse: DevicesInUse,
  budget: TryBudget = { left: MAX_TRIES_OF_POD },
): Picks | undefined {
  const allowed = Math.min(budget.left, MAX_TRIES);
  const search = new Search({ claims, pools, inUse, allowed });
  const picks = search.run();
  budget.left -= search.tries;
  return picks;
}

interface SearchParts {
  readonly claims: readonly ClaimNeeds[];
  readonly pools: readonly DevicePool[];
  readonly inUse: DevicesInUse;
  readonly allowed: number;
}

class Search {
  readonly #parts: SearchParts;
  readonly #claims: readonly ClaimNeeds[];
  readonly #pools: readonly DevicePool[];
  readonly #taken = new Set<string>();
  /** The shares that this search has allocated, by device. */
  readonly #shares = new Map<string, ReadonlyMap<string, Quantity>[]>();
  readonly #picks: Picked[][];
  /** The counters that allocated devices consume: `driver/pool` → `counterSet/counter` → amount. */
  readonly #consumed = new Map<string, Map<string, string>>();
  tries = 0;

  constructor(parts: SearchParts) {
    this.#parts = parts;
    const { claims, pools } = parts;
    this.#claims = claims;
    this.#pools = pools;
    this.#picks = claims.map(() => []);
    for (const pool of pools) for (const device of pool.counting) if (this.#isUsed(device)) this.#consume(device);
  }

  run(): Picks | undefined {
    return this.#request(0, 0) ? this.#picks : undefined;
  }

  #request(claim: number, index: number): boolean {
    const needs = this.#claims[claim];
    if (needs === undefined) return true;
    const ways = needs.requests[index];
    if (ways === undefined) return this.#request(claim + 1, 0);
    return ways.some((need) => this.#satisfy(need, claim, index));
  }

  #satisfy(need: DeviceNeed, claim: number, index: number): boolean {
    if (!this.#mayTry()) return false;
    const picks = this.#picks[claim] ?? [];
    const before = picks.length;
    const next = (): boolean => this.#request(claim, index + 1);
    const done =
      need.count === undefined
        ? this.#pickAll(need, claim, next)
        : this.#pickSome({ need, claim, left: need.count, from: 0 }, next);
    if (!done) while (picks.length > before) this.#undo(picks);
    return done;
  }

  /**
   * Picks every matching device. All pools must be complete, at least one device must match, and none may be in use.
   */
  #pickAll(need: DeviceNeed, claim: number, next: () => boolean): boolean {
    const all = this.#pools.flatMap((pool) => pool.devices.map((device) => ({ pool, device })));
    const wanted = all.filter(
      ({ device }) => !isTaintedFor(device.device.taints, need.tolerations) && isSelected(need, device),
    );
    if (wanted.length === 0 || this.#pools.some(({ isComplete }) => !isComplete)) return false;
    return wanted.every(({ pool, device }) => this.#mayTry() && this.#take({ need, device, claim, pool })) && next();
  }

  #pickSome(
    step: { readonly need: DeviceNeed; readonly claim: number; readonly left: number; readonly from: number },
    next: () => boolean,
  ): boolean {
    const { need, claim, left, from } = step;
    if (left === 0) return next();
    let at = -1;
    for (const pool of this.#pools) {
      for (const device of pool.devices) {
        at++;
        // Devices of one request are interchangeable: only ascending orders are tried.
        if (at < from || !pool.isComplete || isTaintedFor(device.device.taints, need.tolerations)) continue;
        if (!isSelected(need, device)) continue;
        if (!this.#mayTry()) return false;
        if (!this.#take({ need, device, claim, pool })) continue;
        // A shared device may be picked again for another share.
        const following = isShared(device) ? at : at + 1;
        if (this.#pickSome({ need, claim, left: left - 1, from: following }, next)) return true;
        this.#undo(this.#picks[claim] ?? []);
      }
    }
    return false;
  }

  #take({ need, device, claim, pool }: Omit<Picked, 'share'> & { claim: number; pool: DevicePool }): boolean {
    const picks = this.#picks[claim];
    if (picks === undefined || picks.length >= MAX_RESULTS || !this.#isFree({ need, device, pool, picks }))
      return false;
    const share = computeConsumedCapacity(need.capacity, device.device.capacity);
    if (share === undefined) return false;
    if (isShared(device) && !need.adminAccess && !this.#hasRoom(device, share)) return false;
    picks.push({ need, device, share: isShared(device) ? share : undefined });
    const { constraints } = this.#claims[claim] ?? { constraints: [] };
    if (!constraints.every((constraint) => holds(constraint, picks))) {
      picks.pop();
      return false;
    }
    if (need.adminAccess) return true;
    if (!isShared(device) || !this.#isUsed(device)) this.#consume(device);
    if (isShared(device)) this.#shares.set(device.key, [...(this.#shares.get(device.key) ?? []), share]);
    else this.#taken.add(device.key);
    return true;
  }

  #isFree({
    need,
    device,
    pool,
    picks,
  }: Pick<Picked, 'need' | 'device'> & { pool: DevicePool; picks: readonly Picked[] }): boolean {
    // A claim can contain each device only once.
    if (!isShared(device) && picks.some((each) => each.device.key === device.key)) return false;
    if (need.adminAccess) return true;
    if (this.#taken.has(device.key) || this.#parts.inUse.isTaken(device.key)) return false;
    // The counters of a device that is already shared are already consumed.
    return (isShared(device) && this.#isUsed(device)) || this.#hasCounters(device, pool);
  }

  #isUsed({ key }: PoolDevice): boolean {
    const { inUse } = this.#parts;
    return inUse.isTaken(key) || inUse.isShared(key) || (this.#shares.get(key) ?? []).length > 0;
  }

  #hasRoom({ key, device }: PoolDevice, share: ReadonlyMap<string, Quantity>): boolean {
    const used = this.#parts.inUse.consumed(key);
    for (const [name, amount] of share) {
      const sums = [used.get(name), ...(this.#shares.get(key) ?? []).map((each) => each.get(name))];
      const total = sums.reduce<Quantity>((sum, each) => (each === undefined ? sum : addQuantity(sum, each)), amount);
      if (compareParsed(total, parseQuantity(device.capacity?.[name]?.value ?? '0')) > 0) return false;
    }
    return true;
  }

  #undo(picks: Picked[]): void {
    const last = picks.pop();
    if (last === undefined || last.need.adminAccess) return;
    const { device } = last;
    if (isShared(device)) this.#shares.set(device.key, (this.#shares.get(device.key) ?? []).slice(0, -1));
    else this.#taken.delete(device.key);
    if (!isShared(device) || !this.#isUsed(device)) this.#release(device);
  }

  #mayTry(): boolean {
    return ++this.tries <= this.#parts.allowed;
  }

  #hasCounters(device: PoolDevice, pool: DevicePool): boolean {
    const used = this.#consumed.get(poolKey(device));
    return consumptionOf(device).every(([counter, amount]) => {
      const total = pool.counters.get(counter);
      return total !== undefined && compareQuantities(addQuantities(used?.get(counter) ?? '0', amount), total) <= 0;
    });
  }

  #consume(device: PoolDevice): void {
    this.#change(device, (used, amount) => addQuantities(used, amount));
  }

  #release(device: PoolDevice): void {
    this.#change(device, (used, amount) =>
      addQuantities(used, amount.startsWith('-') ? amount.slice(1) : `-${amount}`),
    );
  }

  #change(device: PoolDevice, by: (used: string, amount: string) => string): void {
    const consumption = consumptionOf(device);
    if (consumption.length === 0) return;
    const used = this.#consumed.get(poolKey(device)) ?? new Map<string, string>();
    for (const [counter, amount] of consumption) used.set(counter, by(used.get(counter) ?? '0', amount));
    this.#consumed.set(poolKey(device), used);
  }
}

const isShared = ({ device }: PoolDevice): boolean => device.allowMultipleAllocations === true;
const poolKey = ({ driver, pool }: PoolDevice): string => `${driver}/${pool}`;

function consumptionOf({ device }: PoolDevice): (readonly [counter: string, amount: string])[] {
  return (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
    Object.entries(counters ?? {}).map(([name, { value }]) => [`${counterSet}/${name}`, value] as const),
  );
}

/** Whether the picked devices satisfy the constraint. */
function holds(
  { requests = [], matchAttribute, distinctAttribute }: DeviceConstraint,
  picks: readonly Picked[],
): boolean {
  const isMeant = ({ need: { request } }: Picked): boolean =>
    requests.length === 0 || requests.includes(request) || requests.includes(request.split('/')[0] ?? '');
  const name = matchAttribute ?? distinctAttribute;
  const meant = picks.filter(isMeant);
  if (name === undefined) return true;
  const values = meant.map(({ device }) => attributeValue(device, name));
  if (values.includes(undefined)) return false;
  return matchAttribute === undefined ? new Set(values).size === values.length : new Set(values).size <= 1;
}

/** Returns the attribute value with its type as a text. A name without a domain belongs to the driver's domain. */
function attributeValue({ driver, device }: PoolDevice, name: string): string | undefined {
  const attributes = new Map<string, DeviceAttribute>(Object.entries(device.attributes ?? {}));
  const [domain, id = ''] = name.split('/');
  const attribute = attributes.get(name) ?? (domain === driver ? attributes.get(id) : undefined);
  return attribute === undefined ? undefined : JSON.stringify(attribute);
}
