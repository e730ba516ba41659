import type { Node } from '../../../api/core/node.ts';
import { evictionsPerSecond, zoneKey, zoneState } from './node-health.ts';

/** Looked at again when no node may go, for want of an event that says when one may. */
const heldMs = 5000;

/** How fast nodes of each zone may be told to lose their pods; when no zone has a ready node, none may: then it is more likely this side that is cut off. */
export class ZonePace {
  readonly #monotonicMs: () => number;
  readonly #ready = new Map<string, { readonly zone: string; readonly ready: boolean }>();
  readonly #nextAtMs = new Map<string, number>();

  constructor(monotonicMs: () => number) {
    this.#monotonicMs = monotonicMs;
  }

  set(node: Node, ready: boolean): void {
    this.#ready.set(node.metadata.name, { zone: zoneKey(node), ready });
  }

  forget({ metadata }: Node): void {
    this.#ready.delete(metadata.name);
  }

  /** Undefined: now, and the turn is taken. Else how long to wait. */
  waitMs(zone: string): number | undefined {
    const all = [...this.#ready.values()];
    if (!all.some(({ ready }) => ready)) return heldMs;
    const inZone = all.filter((each) => each.zone === zone);
    const ready = inZone.filter((each) => each.ready).length;
    const perSecond = evictionsPerSecond(zoneState(ready, inZone.length - ready), inZone.length);
    if (perSecond === 0) return heldMs;
    const nowMs = this.#monotonicMs();
    const atMs = this.#nextAtMs.get(zone) ?? nowMs;
    if (atMs > nowMs) return atMs - nowMs;
    this.#nextAtMs.set(zone, nowMs + 1000 / perSecond);
    return undefined;
  }
}
