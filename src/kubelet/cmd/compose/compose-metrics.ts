import type { Pod } from '../../../api/core/pod.ts';
import type { PodStatus } from '../../../api/core/pod-status.ts';
import { createAgentMetrics, type AgentMetrics } from '../../features/metrics/agent-metrics.ts';
import { noteClientRequest } from '../../features/metrics/client-requests.ts';
import { noteEnds } from '../../features/metrics/container-life.ts';
import { metricsEndpoints } from '../../features/metrics/metrics-endpoints.ts';
import { countPods, staticLabel, type CountedWorker } from '../../features/metrics/pod-counts.ts';
import { countResizes } from '../../features/metrics/resizes.ts';
import { countStorage } from '../../features/metrics/storage.ts';
import { PodStarts } from '../../features/metrics/pod-starts.ts';
import { ProbeCounts } from '../../features/metrics/probe-counts.ts';
import { noteRuntimeCall } from '../../features/metrics/runtime-calls.ts';
import type { PodSyncer } from '../../features/pod-workers/pod-workers.ts';
import type { WorkerState } from '../../features/pod-workers/worker-state.ts';
import type { HealthCheck } from '../../features/server/health-app.ts';
import type { ProbeManagerOptions } from '../../features/probes/probe-manager.ts';
import { compressedAnswer } from '../../features/stats/stats-endpoints.ts';
import { gateStates } from '../../model/config/feature-gates.ts';
import type { OwnUsage } from '../../adapters/stats/own-usage.ts';
import { buildLabels } from '../flags/flags-version.ts';
import type { CertificateFigures } from './certificate-figures.ts';
import type { Actors, Knowledge } from './compose-context.ts';
import type { LoopParts } from './compose-loop.ts';
import type { ComposeSettings } from './compose-settings.ts';
import { gzipText, type StatsParts } from './compose-stats.ts';
import type { World } from './world.ts';

/** What is counted, and who hears of what. Made before everything else. */
export interface Observation {
  metrics: AgentMetrics;
  starts: PodStarts;
  probes: ProbeCounts;
  /** Monotonic. */
  lastRelistMs: number | undefined;
}

export function createObservation(nowMs: () => number): Observation {
  const metrics = createAgentMetrics();
  return { metrics, starts: new PodStarts(metrics, nowMs), probes: new ProbeCounts(metrics), lastRelistMs: undefined };
}

const PROBE_RESULTS = {
  success: 'successful',
  warning: 'successful',
  failure: 'failed',
  timeout: 'failed',
  error: 'unknown',
  inconclusive: 'unknown',
} as const;

export function observeProbe({ probes }: Observation): NonNullable<ProbeManagerOptions['onProbe']> {
  return ({ type, pod, container }, outcome, { durationMs }) => {
    if (outcome !== 'gone')
      probes.seen({ type, container, pod: pod.metadata, outcome: PROBE_RESULTS[outcome], durationMs });
  };
}

/** Checks whose results are counted (upstream: component-base/metrics/prometheus/slis). */
export function observedChecks(
  { metrics: { slis } }: Observation,
  checks: Readonly<Record<string, HealthCheck>>,
): Record<string, HealthCheck> {
  const observed =
    (name: string, check: HealthCheck): HealthCheck =>
    () => {
      const problem = check();
      slis.set('kubernetes_healthcheck', { name, type: 'healthz' }, problem === undefined ? 1 : 0);
      slis.count('kubernetes_healthchecks_total', {
        name,
        type: 'healthz',
        status: problem === undefined ? 'success' : 'error',
      });
      return problem;
    };
  return Object.fromEntries(Object.entries(checks).map(([name, check]) => [name, observed(name, check)]));
}

/** How long a relist took, and how long it was since the one before. */
export function noteRelist(observation: Observation, durationMs: number, nowMs: number): void {
  const { main } = observation.metrics;
  main.observe('kubelet_pleg_relist_duration_seconds', {}, durationMs / 1000);
  const { lastRelistMs } = observation;
  if (lastRelistMs !== undefined)
    main.observe('kubelet_pleg_relist_interval_seconds', {}, (nowMs - lastRelistMs) / 1000);
  observation.lastRelistMs = nowMs;
}

/** Passes of pods, by what they are for. */
export function observedSyncer(
  syncer: PodSyncer,
  { metrics: { main } }: Observation,
  monotonicMs: () => number,
): PodSyncer {
  const started = new Set<string>();
  const orphans = new Set<string>();
  const timed = async <T>(type: string, work: Promise<T>): Promise<T> => {
    const startMs = monotonicMs();
    try {
      return await work;
    } finally {
      main.observe('kubelet_pod_worker_duration_seconds', { operation_type: type }, (monotonicMs() - startMs) / 1000);
    }
  };
  return {
    syncPod: (work) => {
      const { uid } = work.pod.metadata;
      const isFirst = !started.has(uid);
      started.add(uid);
      if (isFirst)
        main.observe('kubelet_pod_worker_start_duration_seconds', {}, (monotonicMs() - work.firstSeenMs) / 1000);
      return timed(isFirst ? 'create' : 'sync', syncer.syncPod(work));
    },
    syncTerminatingPod: (work) => {
      const { subject } = work;
      if (subject.kind === 'orphan' && !orphans.has(subject.runtime.uid)) {
        orphans.add(subject.runtime.uid);
        main.count('kubelet_orphaned_runtime_pods_total');
      }
      return timed('terminating', syncer.syncTerminatingPod(work));
    },
    syncTerminatedPod: (work) => timed('terminated', syncer.syncTerminatedPod(work)),
    finished: (work) => {
      started.delete(work.uid);
      orphans.delete(work.uid);
      if (work.revived && work.pod !== undefined)
        main.count('kubelet_restarted_pods_total', { static: staticLabel(work.pod) });
      syncer.finished(work);
    },
  };
}

/** How messages of pods begin that the node does not take (upstream: kubelet.go rejectPod). */
const REJECTED = 'Pod was rejected: ';

export interface MetricsParts {
  settings: ComposeSettings;
  world: World;
  knowledge: Knowledge;
  actors: Actors;
  loop: LoopParts;
  statuses: {
    onChange(listener: (change: { pod: Pod; status: PodStatus; previous: PodStatus | undefined }) => void): unknown;
  };
  stats: StatsParts | undefined;
}

/** Everything that is not counted where it happens: what others tell, and what is looked up at a scrape. */
export function composeMetrics(
  { metrics, starts, probes }: Observation,
  parts: MetricsParts,
): ReturnType<typeof metricsEndpoints> {
  const { settings, world, knowledge, loop, statuses } = parts;
  const { main } = metrics;
  statuses.onChange(({ pod, status, previous }) => {
    starts.statusChanged(pod, status);
    if (previous === undefined) main.observe('kubelet_containers_per_pod_count', {}, pod.spec.containers.length);
    const isRejected =
      status.phase === 'Failed' && previous?.phase !== 'Failed' && status.message?.startsWith(REJECTED) === true;
    if (isRejected) main.count('kubelet_admission_rejections_total', { reason: status.reason ?? '' });
  });
  loop.onPodGone(({ metadata }) => {
    starts.podGone(metadata.uid);
    probes.podGone(metadata.uid);
  });
  knowledge.cache.onChange(({ uid, before, after }) => noteEnds(metrics, knowledge.store.byUid(uid), before, after));
  world.observe?.runtimeCalls(({ op, durationMs, errorKind }) =>
    noteRuntimeCall(metrics, { op, durationMs, failed: errorKind !== undefined }),
  );
  world.cluster?.observe?.((seen) => noteClientRequest(metrics, seen));
  main.set('kubelet_node_name', { node: world.machine.nodeName }, 1);
  main.set('kubelet_cgroup_version', {}, world.cgroups.version);
  main.set('kubelet_metrics_provider', { provider: 'cadvisor' }, 1);
  main.set('kubernetes_build_info', buildLabels(), 1);
  for (const { name, stage, enabled } of gateStates(settings.config.gates))
    main.set('kubernetes_feature_enabled', { name, stage }, enabled ? 1 : 0);
  for (const [stability, count] of main.stabilities())
    main.setTotal('registered_metrics_total', { stability_level: stability, deprecated_version: '' }, count);
  for (const label of ['', 'true']) main.count('kubelet_restarted_pods_total', { static: label }, 0);
  // Upstream: nothing that such plugins gave can expire.
  main.set('rest_client_exec_plugin_ttl_seconds', {}, Infinity);
  main.collect(() => collectPods(metrics, parts));
  main.collect(() => {
    countResizes(metrics, parts.actors.allocation.counts());
    countStorage(metrics, { volumes: parts.actors.volumes.counts(), plugins: parts.actors.csi.plugins.counts() });
  });
  main.collect(() => collectDisks(metrics, parts));
  const ownUsage = world.observe?.ownUsage;
  if (ownUsage !== undefined) observeProcess(metrics, ownUsage);
  const certificates = world.observe?.certificates;
  if (certificates !== undefined) observeCertificates(metrics, certificates);
  return metricsEndpoints({ metrics, answer: (request, text) => compressedAnswer(gzipText, request, text) });
}

/** Upstream: certificate/kubelet.go. What nobody manages never ends. */
export function observeCertificates({ main }: Pick<AgentMetrics, 'main'>, figures: CertificateFigures): void {
  figures.onServerRotated((ageSeconds) =>
    main.observe('kubelet_certificate_manager_server_rotation_seconds', {}, ageSeconds),
  );
  main.collect(() => {
    main.set('kubelet_certificate_manager_client_ttl_seconds', {}, figures.clientTtlSeconds());
    main.set('kubelet_certificate_manager_server_ttl_seconds', {}, figures.serverTtlSeconds());
    main.setTotal('kubelet_certificate_manager_client_expiration_renew_errors', {}, figures.clientRenewErrors);
    main.setTotal('kubelet_server_expiration_renew_errors', {}, figures.serverRenewErrors);
  });
}

function collectPods(metrics: AgentMetrics, { knowledge, loop, world, actors }: MetricsParts): void {
  const { store, cache } = knowledge;
  countPods(metrics, {
    runtimePods: cache.all(),
    desired: store.pods(),
    active: loop.admission.activePods(),
    workers: [...loop.workers.known()].map(([uid, state]) => countedWorker(state, store.byUid(uid))),
  });
  const { lastActiveMs } = actors.pleg.health();
  if (lastActiveMs !== undefined)
    metrics.main.set(
      'kubelet_pleg_last_seen_seconds',
      {},
      (world.clock.nowMs() - world.clock.monotonicMs() + lastActiveMs) / 1000,
    );
}

function countedWorker(state: WorkerState, wanted: Pod | undefined): CountedWorker {
  const lifecycle =
    state.phase === 'terminating'
      ? 'terminating'
      : state.phase === 'terminated' || state.phase === 'finished'
        ? 'terminated'
        : 'sync';
  const pod =
    state.phase === 'terminating' ? (state.subject.kind === 'pod' ? state.subject.pod : undefined) : state.pod;
  return { lifecycle, pod, desired: wanted !== undefined };
}

/** What was measured last; nothing is measured for a scrape of this endpoint. */
function collectDisks({ main }: AgentMetrics, { stats, knowledge }: MetricsParts): void {
  if (stats === undefined) return;
  const names = ['capacity_bytes', 'available_bytes', 'used_bytes', 'inodes', 'inodes_free', 'inodes_used'] as const;
  for (const name of [...names, 'health_status_abnormal'] as const) main.clear(`kubelet_volume_stats_${name}`);
  main.clear('kubelet_container_log_filesystem_used_bytes');
  for (const facts of stats.disks.volumes.values()) {
    for (const { volume, usage } of facts) {
      if (volume.claim === undefined) continue;
      const labels = { namespace: volume.claim.namespace, persistentvolumeclaim: volume.claim.name };
      const values = [
        usage.capacityBytes,
        usage.availableBytes,
        usage.usedBytes,
        usage.inodes,
        usage.inodesFree,
        usage.inodesUsed,
      ];
      names.forEach((name, index) => main.set(`kubelet_volume_stats_${name}`, labels, values[index] ?? 0));
      if (usage.abnormal !== undefined)
        main.set('kubelet_volume_stats_health_status_abnormal', labels, usage.abnormal.abnormal ? 1 : 0);
    }
  }
  for (const status of knowledge.cache.all()) {
    for (const [container, { usedBytes }] of stats.disks.pods.get(status.uid)?.logs ?? [])
      main.set(
        'kubelet_container_log_filesystem_used_bytes',
        { uid: status.uid, namespace: status.namespace, pod: status.name, container },
        usedBytes,
      );
  }
}

function observeProcess({ main, probes, slis }: AgentMetrics, ownUsage: () => OwnUsage): void {
  const { startedAtMs } = ownUsage();
  for (const set of [probes, slis]) set.set('process_start_time_seconds', {}, startedAtMs / 1000);
  main.collect(() => {
    const own = ownUsage();
    main.setTotal('process_cpu_seconds_total', {}, own.cpuSeconds);
    main.setTotal('process_network_receive_bytes_total', {}, own.receivedBytes);
    main.setTotal('process_network_transmit_bytes_total', {}, own.sentBytes);
    main.set('process_open_fds', {}, own.openFiles);
    main.set('process_max_fds', {}, own.openFilesLimit);
    main.set('process_resident_memory_bytes', {}, own.residentBytes);
    main.set('process_virtual_memory_bytes', {}, own.virtualBytes);
    main.set('process_virtual_memory_max_bytes', {}, own.virtualLimitBytes);
    main.set('process_start_time_seconds', {}, own.startedAtMs / 1000);
    main.set('nodejs_heap_size_total_bytes', {}, own.heapTotalBytes);
    main.set('nodejs_heap_size_used_bytes', {}, own.heapUsedBytes);
    main.set('nodejs_eventloop_utilization_ratio', {}, own.eventLoopUtilization);
  });
}
