import { readFileSync } from 'node:fs';
import type { NodeLoad } from '../ports/node-load.ts';

/** The unit of /proc/stat in milliseconds. User space always sees 100 ticks a second. */
const TICK_MS = 10;

/**
 * Reads the load of the node. It reads synchronously, because /proc is not a disk and on an overloaded node the thread
 * pool may be starved.
 */
export function readNodeLoad(proc = '/proc'): NodeLoad | undefined {
  const stat = readIfThere(`${proc}/stat`);
  return stat === undefined ? undefined : parseNodeLoad(stat, readIfThere(`${proc}/pressure/cpu`));
}

/** Parses the load. Steal time counts as used, because it was not available. */
export function parseNodeLoad(stat: string, pressure: string | undefined): NodeLoad | undefined {
  const ticks = /^cpu +([\d ]+)/.exec(stat)?.[1]?.split(' ').map(Number);
  if (ticks === undefined || ticks.length < 5) return undefined;
  // The fields are user nice system idle iowait irq softirq steal. The later ones are included in the first two.
  const capacityMs = ticks.slice(0, 8).reduce((sum, each) => sum + each, 0) * TICK_MS;
  const idleMs = ((ticks[3] ?? 0) + (ticks[4] ?? 0)) * TICK_MS;
  const stalledUs = pressure === undefined ? undefined : /^some .*total=(\d+)/m.exec(pressure)?.[1];
  return {
    idleMs,
    capacityMs,
    stalledMs: stalledUs === undefined ? undefined : Number(stalledUs) / 1000,
    runnable: Number(/^procs_running (\d+)/m.exec(stat)?.[1] ?? 0),
    cores: stat.match(/^cpu\d+ /gm)?.length ?? 1,
  };
}

function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    // The kernel has no pressure information, or /proc is hidden.
    return undefined;
  }
}
