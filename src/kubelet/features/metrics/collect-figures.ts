import type { Clock } from '../../../base/clock.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodUid } from '../../model/ids.ts';
import type { PodRuntimeStatus } from '../../model/runtime-status.ts';
import type { AgentMetrics } from './agent-metrics.ts';
import { countClaims, countPodCertificates } from './devices.ts';
import { collectDisks } from './disk-usage.ts';
import { noteRuntimeSeen } from './observation.ts';
import { countedWorker, countPods } from './pod-counts.ts';
import { countCpus } from './resource-managers.ts';
import { countResizes } from './resizes.ts';
import { countShutdown } from './shutdowns.ts';
import { countStorage } from './storage.ts';

/** The parts of the agent whose figures are read at each scrape. */
export interface FigureSources {
  readonly store: { pods(): readonly Pod[]; mirrorPods(): readonly Pod[]; byUid(uid: PodUid): Pod | undefined };
  readonly cache: { all(): Iterable<PodRuntimeStatus> };
  readonly states: { known(): ReadonlyMap<PodUid, Parameters<typeof countedWorker>[0]> };
  readonly admission: { activePods(): readonly Pod[] };
  readonly pleg: { health(): { readonly lastActiveMs: number | undefined } };
  readonly claims: { claimsInUse(): Parameters<typeof countClaims>[1] };
  /** The certificates of pods; undefined on a standalone node. */
  readonly podCertificates: { phases(): Parameters<typeof countPodCertificates>[1] } | undefined;
  readonly nodeShutdown: { times(): Parameters<typeof countShutdown>[1] };
  readonly allocation: { counts(): Parameters<typeof countResizes>[1] };
  readonly cpuManager: { usage(): Parameters<typeof countCpus>[1] };
  readonly volumes: { counts(): Parameters<typeof countStorage>[1]['volumes'] };
  readonly plugins: { counts(): Parameters<typeof countStorage>[1]['plugins'] };
  /** The disk measurements; undefined on a platform where nothing is measured. */
  readonly disks: Parameters<typeof collectDisks>[1] | undefined;
  readonly clock: Pick<Clock, 'nowMs' | 'monotonicMs'>;
}

/** Reads the figures at each scrape. */
export function collectFigures(metrics: Pick<AgentMetrics, 'main'>, sources: FigureSources): void {
  const { store, cache, states, admission, pleg, disks, clock } = sources;
  const { main } = metrics;
  main.collect(() => {
    countPods(metrics, {
      runtimePods: cache.all(),
      desired: store.pods(),
      active: admission.activePods(),
      mirrors: store.mirrorPods().length,
      workers: [...states.known()].map(([uid, state]) => countedWorker(state, store.byUid(uid))),
    });
    noteRuntimeSeen(metrics, pleg.health().lastActiveMs, clock);
  });
  main.collect(() => countClaims(metrics, sources.claims.claimsInUse()));
  main.collect(() => countPodCertificates(metrics, sources.podCertificates?.phases() ?? []));
  main.collect(() => countShutdown(metrics, sources.nodeShutdown.times()));
  main.collect(() => countResizes(metrics, sources.allocation.counts()));
  main.collect(() => countCpus(metrics, sources.cpuManager.usage()));
  main.collect(() => countStorage(metrics, { volumes: sources.volumes.counts(), plugins: sources.plugins.counts() }));
  if (disks !== undefined) main.collect(() => collectDisks(metrics, disks, cache.all()));
}
