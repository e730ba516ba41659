import type { Pod } from '../../../api/core/pod.ts';
import type { DiskLayout } from './disk-layout.ts';
import type { PodDiskUse, PodUsageParts } from './pod-usage.ts';
import { PodUsage } from './pod-usage.ts';
import { rankPods } from './rank-pods.ts';
import type { EvictionSignal, Observations } from './signals.ts';
import { isEvictionSignal, signalFacts } from './signals.ts';
import type { Threshold } from './thresholds.ts';
import { amountOf } from './thresholds.ts';

export interface EvictionOverviewParts {
  readonly observations: () => Observations;
  readonly thresholds: () => readonly Threshold[];
  readonly layout: () => DiskLayout | undefined;
  readonly candidates: () => readonly Pod[];
  readonly usage: PodUsageParts;
  /** The last measured disk use; measures nothing. */
  readonly lastDiskUse: (uids: ReadonlySet<string>) => ReadonlyMap<string, PodDiskUse>;
}

export interface OverviewSignal {
  readonly signal: string;
  readonly unit: 'bytes' | 'inodes' | 'processes';
  readonly available: number | undefined;
  readonly capacity: number | undefined;
  readonly threshold: number;
  readonly graceMs: number;
}

export interface OverviewPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
  readonly usage: number | undefined;
  readonly request: number;
  readonly priority: number;
  readonly spared: boolean;
}

/** Signals and rankings from the last readings, for a page that is drawn often. Reads groups, but no disk. */
export class EvictionOverview {
  readonly #parts: EvictionOverviewParts;

  constructor(parts: EvictionOverviewParts) {
    this.#parts = parts;
  }

  signals(): OverviewSignal[] {
    const observations = this.#parts.observations();
    return this.#parts.thresholds().map(({ signal, value, graceMs }) => {
      const observed = observations.get(signal);
      return {
        signal,
        unit: unitOf(signal),
        available: observed?.available,
        capacity: observed?.capacity,
        threshold: amountOf(value, observed?.capacity ?? 0),
        graceMs,
      };
    });
  }

  /** In the order of eviction; empty for a signal that does not exist. */
  ranking(signal: string): OverviewPod[] {
    if (!isEvictionSignal(signal)) return [];
    const { candidates, usage, lastDiskUse, layout } = this.#parts;
    const pods = candidates();
    const disks = lastDiskUse(new Set(pods.map(({ metadata }) => metadata.uid)));
    const measured = PodUsage.ofLast(usage, layout() ?? 'shared', disks);
    return rankPods(pods, signal, (pod) => measured.of(pod, signal)).map(({ pod, ...rank }) => ({
      uid: pod.metadata.uid,
      namespace: pod.metadata.namespace,
      name: pod.metadata.name,
      usage: rank.usage,
      request: rank.request,
      priority: rank.priority,
      spared: rank.spared,
    }));
  }
}

function unitOf(signal: EvictionSignal): OverviewSignal['unit'] {
  const { resource } = signalFacts[signal];
  return resource === 'inodes' ? 'inodes' : resource === 'pids' ? 'processes' : 'bytes';
}
