import type { Pod } from '../../../api/core/pod.ts';
import { podKey } from '../../../api/pod.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { PodUid } from '../../model/ids.ts';
import type { EvictionReport, RankingReport, ReclaimableReport, SignalReport } from '../../model/eviction-report.ts';
import type { DiskLayout } from './disk-layout.ts';
import type { EvictionManager, UnusedThings } from './eviction-manager.ts';
import type { PodUsageParts } from './pod-usage.ts';
import { PodUsage } from './pod-usage.ts';
import type { PressureState } from './pressure-state.ts';
import { rankPods, selectVictim } from './rank-pods.ts';
import type { SignalReadings } from './signal-readings.ts';
import type { EvictionSignal, Observations } from './signals.ts';
import { evictionSignals, signalFacts } from './signals.ts';
import type { Threshold } from './thresholds.ts';
import { amountOf, isHard, thresholdKey } from './thresholds.ts';

export interface EvictionReporterParts {
  readonly readings: Pick<SignalReadings, 'all' | 'readAll'>;
  readonly thresholds: () => readonly Threshold[];
  readonly transitionMs: number;
  readonly manager: Pick<EvictionManager, 'assess' | 'candidates' | 'leaving'>;
  readonly usage: PodUsageParts;
  readonly findLayout: () => Promise<DiskLayout>;
  readonly containerGc: Pick<UnusedThings<number>, 'countUnused'>;
  readonly imageGc: Pick<UnusedThings<Omit<ReclaimableReport, 'containers'>>, 'countUnused'>;
  readonly pod: (uid: PodUid) => Pod | undefined;
  readonly monotonicMs: () => number;
}

/** The signals to rank, one for each resource. Other signals have the same ranking unless file systems are separate. */
const signalsInRank: readonly EvictionSignal[] = [
  'memory.available',
  'nodefs.available',
  'nodefs.inodesFree',
  'pid.available',
];
/** The number of pods shown in each ranking. */
const MOST_PODS = 250;

/** Reports what would be evicted, from new readings, without changing anything. */
export class EvictionReporter {
  readonly #parts: EvictionReporterParts;

  constructor(parts: EvictionReporterParts) {
    this.#parts = parts;
  }

  async report(): Promise<EvictionReport> {
    const { readings, thresholds, transitionMs, manager, usage, findLayout } = this.#parts;
    const layout = await findLayout();
    await readings.readAll();
    const pods = manager.candidates();
    const [measured, unused] = await Promise.all([PodUsage.withDisks(usage, layout, pods), this.#reclaimable()]);
    const nowMs = this.#parts.monotonicMs();
    const { state, conditions } = manager.assess();
    const leaving = manager.leaving();
    const leavingPod = leaving === undefined ? undefined : this.#parts.pod(leaving);
    return {
      signals: signalReports(readings.all, thresholds(), state, nowMs),
      conditions: conditions.map((type) => ({
        type,
        forMs: Math.max(0, (state.lastTrueMs.get(type) ?? nowMs) + transitionMs - nowMs),
      })),
      leaving: leavingPod === undefined ? leaving : podKey(leavingPod),
      reclaimable: unused,
      rankings: rankedSignals(thresholds()).map((signal) => ranking(signal, pods, measured)),
    };
  }

  async #reclaimable(): Promise<ReclaimableReport> {
    const { containerGc, imageGc } = this.#parts;
    const [containers, images] = await Promise.all([containerGc.countUnused(), imageGc.countUnused()]);
    return { containers, ...images };
  }
}

/** Reads the report. Rejects on a machine whose resources cannot be measured. */
export async function readEvictionReport(
  reporter: Pick<EvictionReporter, 'report'> | undefined,
): Promise<EvictionReport> {
  if (reporter === undefined)
    throw new KubeletError('Unavailable', 'the resources of this machine cannot be measured, so nothing is evicted');
  return reporter.report();
}

/** Returns the signals of the resources that have a threshold. */
function rankedSignals(thresholds: readonly Threshold[]): EvictionSignal[] {
  const resources = new Set(thresholds.map(({ signal }) => signalFacts[signal].resource));
  return signalsInRank.filter((signal) => resources.has(signalFacts[signal].resource));
}

function signalReports(
  observations: Observations,
  thresholds: readonly Threshold[],
  { firstMetMs }: PressureState,
  nowMs: number,
): SignalReport[] {
  return evictionSignals.flatMap((signal) => {
    const observed = observations.get(signal);
    if (observed === undefined) return [];
    const { available, capacity, atMs } = observed;
    return [
      {
        signal,
        resource: signalFacts[signal].resource,
        available,
        capacity,
        ageMs: nowMs - atMs,
        thresholds: thresholds
          .filter((threshold) => threshold.signal === signal)
          .map((threshold) => {
            const sinceMs = firstMetMs.get(thresholdKey(threshold));
            return {
              kind: isHard(threshold) ? ('hard' as const) : ('soft' as const),
              amount: amountOf(threshold.value, capacity),
              graceMs: threshold.graceMs,
              minimumReclaim: threshold.minimumReclaim === undefined ? 0 : amountOf(threshold.minimumReclaim, capacity),
              metForMs: sinceMs === undefined ? undefined : nowMs - sinceMs,
            };
          }),
      },
    ];
  });
}

function ranking(signal: EvictionSignal, pods: readonly Pod[], usage: PodUsage): RankingReport {
  const ranked = rankPods(pods, signal, (pod) => usage.of(pod, signal));
  const first = selectVictim(ranked)?.pod;
  return {
    signal,
    resource: signalFacts[signal].resource,
    first: first === undefined ? undefined : podKey(first),
    pods: ranked.slice(0, MOST_PODS).map(({ pod, usage: used, request, priority, spared }) => ({
      pod: podKey(pod),
      usage: used,
      request,
      priority,
      spared,
    })),
  };
}
