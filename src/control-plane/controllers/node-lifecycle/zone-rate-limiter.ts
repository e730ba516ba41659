import type { Node } from '../../../api/core/node.ts';
import { evictionsPerSecond, zoneKey, zoneState } from './node-health.ts';
import type { ZoneState } from './node-health.ts';

export type Turn =
  /** The node may be evicted now, and the permit is used. */
  | { readonly kind: 'now' }
  | { readonly kind: 'after'; readonly waitMs: number }
  /** The node may not be evicted until the zone recovers. */
  | { readonly kind: 'held' };

interface Zone {
  /** Whether each node is ready. */
  readonly members: Map<string, boolean>;
  /** The number of ready members, so that a change of one node does not count all. */
  ready: number;
}

/**
 * Limits the eviction rate per zone. If no zone has a ready node, eviction stops: then the control plane is more likely
 * to be disconnected.
 */
export class ZoneRateLimiter {
  readonly #monotonicMs: () => number;
  readonly #zones = new Map<string, Zone>();
  readonly #zoneOf = new Map<string, string>();
  readonly #nextAtMs = new Map<string, number>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  /** Records the state of a node. Returns whether this changes the limits of other zones. */
  set(node: Node, ready: boolean): boolean {
    const { name } = node.metadata;
    const zone = zoneKey(node);
    const before = this.#situation(zone);
    const changesOldZone = this.#zoneOf.get(name) !== zone && this.forget(node);
    this.#zoneOf.set(name, zone);
    let known = this.#zones.get(zone);
    if (known === undefined) this.#zones.set(zone, (known = { members: new Map(), ready: 0 }));
    known.ready += Number(ready) - Number(known.members.get(name) ?? false);
    known.members.set(name, ready);
    return changesOldZone || this.#situation(zone) !== before;
  }

  /** Drops a node. Returns whether this changes the limits of other zones. */
  forget({ metadata }: Node): boolean {
    const { name } = metadata;
    const zone = this.#zoneOf.get(name);
    const known = this.#zones.get(zone ?? '');
    if (zone === undefined || known === undefined) return false;
    const before = this.#situation(zone);
    this.#zoneOf.delete(name);
    known.ready -= Number(known.members.get(name) ?? false);
    known.members.delete(name);
    if (known.members.size === 0) {
      this.#zones.delete(zone);
      this.#nextAtMs.delete(zone);
    }
    return this.#situation(zone) !== before;
  }

  /** Whether no zone has a ready node. */
  get isAllDown(): boolean {
    for (const zone of this.#zones.keys()) if (this.#stateOf(zone) !== 'fullDisruption') return false;
    return this.#zones.size > 0;
  }

  takeTurn(zone: string): Turn {
    if (this.isAllDown) return { kind: 'held' };
    const perSecond = evictionsPerSecond(this.#stateOf(zone), this.#zones.get(zone)?.members.size ?? 0);
    if (perSecond === 0) return { kind: 'held' };
    const nowMs = this.#monotonicMs();
    const atMs = this.#nextAtMs.get(zone) ?? nowMs;
    if (atMs > nowMs) return { kind: 'after', waitMs: atMs - nowMs };
    this.#nextAtMs.set(zone, nowMs + 1000 / perSecond);
    return { kind: 'now' };
  }

  #situation(zone: string): string {
    return `${this.isAllDown} ${this.#zones.has(zone) ? this.#stateOf(zone) : ''}`;
  }

  #stateOf(zone: string): ZoneState {
    const { members, ready } = this.#zones.get(zone) ?? { members: new Map(), ready: 0 };
    return zoneState(ready, members.size - ready);
  }
}
