import { addQuantities, compareQuantities } from '../../../api/quantity.ts';
import type { DeviceConstraint } from '../../../api/resource/resource-claim.ts';
import type { DeviceAttribute } from '../../../api/resource/resource-slice.ts';
import { isTaintedFor } from './device-needs.ts';
import type { DeviceNeed, RequestNeeds } from './device-needs.ts';
import type { DevicePool, PoolDevice } from './device-pools.ts';

/** After so many tries of a device a node counts as unsuitable: the search is exponential in the worst case. */
export const MAX_TRIES = 20_000;
/** Upstream's limit of devices in one claim. */
const MAX_RESULTS = 32;

export interface ClaimNeeds {
  readonly requests: readonly RequestNeeds[];
  readonly constraints: readonly DeviceConstraint[];
}

export interface Picked {
  readonly need: DeviceNeed;
  readonly device: PoolDevice;
}

/** By claim, the devices in the order of its requests. */
export type Picks = readonly (readonly Picked[])[];

/**
 * Devices for all claims together, or undefined where the pools do not suffice. `inUse` has the keys of devices that
 * other claims have. Alternatives and devices are tried in their order (upstream: structured allocator).
 */
export function allocateDevices(
  claims: readonly ClaimNeeds[],
  pools: readonly DevicePool[],
  inUse: ReadonlySet<string>,
): Picks | undefined {
  return new Search(claims, pools, inUse).run();
}

class Search {
  readonly #claims: readonly ClaimNeeds[];
  readonly #pools: readonly DevicePool[];
  readonly #taken: Set<string>;
  readonly #picks: Picked[][];
  /** By `driver/pool`, then `counterSet/counter`: what allocated devices consume. */
  readonly #consumed = new Map<string, Map<string, string>>();
  #tries = 0;

  constructor(claims: readonly ClaimNeeds[], pools: readonly DevicePool[], inUse: ReadonlySet<string>) {
    this.#claims = claims;
    this.#pools = pools;
    this.#taken = new Set(inUse);
    this.#picks = claims.map(() => []);
    for (const pool of pools) for (const device of pool.devices) if (inUse.has(device.key)) this.#consume(device, pool);
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

  /** Every device of complete pools; at least one, and none of them may be in use. */
  #pickAll(need: DeviceNeed, claim: number, next: () => boolean): boolean {
    const all = this.#pools.flatMap((pool) => pool.devices.map((device) => ({ pool, device })));
    const wanted = all.filter(({ device }) => !isTaintedFor(device.device.taints, need.tolerations));
    if (wanted.length === 0 || this.#pools.some(({ isComplete }) => !isComplete)) return false;
    return wanted.every(({ pool, device }) => this.#take({ need, device, claim, pool })) && next();
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
        if (++this.#tries > MAX_TRIES) return false;
        if (!this.#take({ need, device, claim, pool })) continue;
        if (this.#pickSome({ need, claim, left: left - 1, from: at + 1 }, next)) return true;
        this.#undo(this.#picks[claim] ?? []);
      }
    }
    return false;
  }

  #take(pick: Picked & { readonly claim: number; readonly pool: DevicePool }): boolean {
    const { need, device, claim, pool } = pick;
    const picks = this.#picks[claim];
    if (picks === undefined || picks.length >= MAX_RESULTS) return false;
    // Several claims may share such a device by amounts, which is not worked out here.
    if (device.device.allowMultipleAllocations === true) return false;
    if (!need.adminAccess && (this.#taken.has(device.key) || !this.#hasCounters(device, pool))) return false;
    picks.push({ need, device });
    const { constraints } = this.#claims[claim] ?? { constraints: [] };
    if (!constraints.every((constraint) => holds(constraint, picks))) {
      picks.pop();
      return false;
    }
    if (!need.adminAccess) {
      this.#taken.add(device.key);
      this.#consume(device, pool);
    }
    return true;
  }

  #undo(picks: Picked[]): void {
    const last = picks.pop();
    if (last === undefined || last.need.adminAccess) return;
    this.#taken.delete(last.device.key);
    this.#release(last.device);
  }

  #hasCounters(device: PoolDevice, pool: DevicePool): boolean {
    const used = this.#consumed.get(poolKey(device));
    return consumptionOf(device).every(([counter, amount]) => {
      const total = pool.counters.get(counter);
      return total !== undefined && compareQuantities(addQuantities(used?.get(counter) ?? '0', amount), total) <= 0;
    });
  }

  #consume(device: PoolDevice, _pool: DevicePool): void {
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

const poolKey = ({ driver, pool }: PoolDevice): string => `${driver}/${pool}`;

function consumptionOf({ device }: PoolDevice): (readonly [counter: string, amount: string])[] {
  return (device.consumesCounters ?? []).flatMap(({ counterSet, counters }) =>
    Object.entries(counters ?? {}).map(([name, { value }]) => [`${counterSet}/${name}`, value] as const),
  );
}

/** Whether the devices picked so far keep the constraint. */
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

/** The value with its type as a text; a name without a domain belongs to the driver. */
function attributeValue({ driver, device }: PoolDevice, name: string): string | undefined {
  const attributes = new Map<string, DeviceAttribute>(Object.entries(device.attributes ?? {}));
  const [domain, id = ''] = name.split('/');
  const attribute = attributes.get(name) ?? (domain === driver ? attributes.get(id) : undefined);
  return attribute === undefined ? undefined : JSON.stringify(attribute);
}
