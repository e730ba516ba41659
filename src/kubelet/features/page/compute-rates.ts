import type { DeviceCounts, GroupUse, InterfaceUse } from '../../ports/stats.ts';

/** The totals of one pod, container or node at one moment. */
export interface Counters {
  readonly atMs: number;
  readonly readBytes?: number;
  readonly writeBytes?: number;
  readonly rxBytes?: number;
  readonly txBytes?: number;
}

export interface Rates {
  readonly readBps?: number;
  readonly writeBps?: number;
  readonly rxBps?: number;
  readonly txBps?: number;
}

/** The minimum time of a rate. Over a shorter time it would be noise. */
const SHORTEST_MS = 500;

/**
 * Computes rates per second between two readings. A counter that decreased belongs to a new pod or container, and has
 * no rate yet.
 */
export function computeRates(before: Counters | undefined, now: Counters): Rates {
  const elapsedMs = before === undefined ? 0 : now.atMs - before.atMs;
  if (before === undefined || elapsedMs < SHORTEST_MS) return {};
  const rate = (from: number | undefined, to: number | undefined): number | undefined =>
    from === undefined || to === undefined || to < from ? undefined : Math.round(((to - from) * 1000) / elapsedMs);
  return {
    readBps: rate(before.readBytes, now.readBytes),
    writeBps: rate(before.writeBytes, now.writeBytes),
    rxBps: rate(before.rxBytes, now.rxBytes),
    txBps: rate(before.txBytes, now.txBytes),
  };
}

/** Returns the counters of a cgroup, and of the network that only its pod uses. */
export function countersOf(
  use: GroupUse | undefined,
  interfaces: readonly InterfaceUse[] | undefined,
  atMs: number,
): Counters {
  const io = use?.io?.bytes;
  return {
    atMs: use?.atMs ?? atMs,
    ...(io !== undefined && { readBytes: sumOf(io, 'Read'), writeBytes: sumOf(io, 'Write') }),
    ...(interfaces !== undefined && {
      rxBytes: interfaces.reduce((sum, { rxBytes }) => sum + rxBytes, 0),
      txBytes: interfaces.reduce((sum, { txBytes }) => sum + txBytes, 0),
    }),
  };
}

const sumOf = (devices: readonly DeviceCounts[], operation: 'Read' | 'Write'): number =>
  devices.reduce((sum, { counts }) => sum + (counts.get(operation) ?? 0), 0);
