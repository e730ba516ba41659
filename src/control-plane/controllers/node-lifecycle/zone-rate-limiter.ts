import type { Node } from '../../../api/core/node.ts';
import { evictionsPerSecond, zoneKey, zoneState } from './node-health.ts';
import type { ZoneState } from './node-health.ts';

export type Turn =
  /** The node may be evicted now, and the permit is used. */
  | { readonly kind: 'now' }
  | { readonly kind: 'after'; readonly waitMs: number }
  /** The node may not be evicted until the zone recovers. */
  | { readonly kind: 'held' };

/**
 * Limits the eviction rate per zone. If no zone has a ready node, eviction stops: then the control plane is more likely
 * to be disconnected.
 */
export class ZoneRateLimiter {
  readonly #monotonicMs: () => number;
  readonly #zones = new Map<string, Map<string, boolean>>();
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
    let members = this.#zones.get(zone);
    if (members === undefined) this.#zones.set(zone, (members = new Map<string, boolean>()));
    members.set(name, ready);
    return changesOldZone || this.#situation(zone) !== before;
  }

  /** Drops a node. Returns whether this changes the limits of other zones. */
  forget({ metadata }: Node): boolean {
    const zone = this.#zoneOf.get(metadata.name);
    const members = this.#zones.get(zone ?? '');
    if (zone === undefined || members === undefined) return false;
    const before = this.#situation(zone);
    this.#zoneOf.delete(metadata.name);
    members.delete(metadata.name);
    if (members.size === 0) {
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
    const perSecond = evictionsPerSecond(this.#stateOf(zone), this.#zones.get(zone)?.size ?? 0);
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
    const members = this.#zones.get(zone) ?? new Map<string, boolean>();
    let ready = 0;
    for (const each of members.values()) if (each) ready++;
    return zoneState(ready, members.size - ready);
  }
}
