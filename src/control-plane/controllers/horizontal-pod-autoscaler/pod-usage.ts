import { findCondition } from '../../../api/conditions.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { isRestartableInit } from '../../../api/pod.ts';
import { quantityMillis } from '../../../api/quantity.ts';
import { isPodLevelResource, podRequests } from '../../../api/resources.ts';
import { parseTime } from '../../../api/time.ts';
import { isPodReady } from '../../controller-runtime/pod-facts.ts';
import type { PodMetric, PodMetrics } from './metrics-source.ts';

export interface ReadinessSettings {
  /** CPU of a pod that started less long ago counts only while it is ready (upstream: --horizontal-pod-autoscaler-cpu-initialization-period). */
  readonly cpuInitializationMs: number;
  /** A pod that stopped being ready so early has never been ready (upstream: --horizontal-pod-autoscaler-initial-readiness-delay). */
  readonly initialReadinessMs: number;
}

/** Pods grouped by the usability of their metrics, by name. */
export interface PodGroups {
  readonly ready: number;
  readonly unready: ReadonlySet<string>;
  readonly missing: ReadonlySet<string>;
  /** The metrics that count. */
  readonly metrics: PodMetrics;
}

/**
 * Groups pods by the usability of their metrics (upstream: groupPods). `resource` is empty for metrics that are not
 * resources.
 */
export function groupPods(
  pods: readonly Pod[],
  metrics: PodMetrics,
  {
    resource,
    settings,
    nowMs,
  }: { readonly resource: string; readonly settings: ReadinessSettings; readonly nowMs: number },
): PodGroups {
  const counted = new Map(metrics);
  const unready = new Set<string>();
  const missing = new Set<string>();
  let ready = 0;
  for (const pod of pods) {
    const { name, deletionTimestamp } = pod.metadata;
    const metric = metrics.get(name);
    if (deletionTimestamp !== undefined || pod.status?.phase === 'Failed') counted.delete(name);
    else if (pod.status?.phase === 'Pending') unready.add(name);
    else if (metric === undefined) missing.add(name);
    else if (resource === 'cpu' && !isCpuMeaningful(pod, metric, settings, nowMs)) unready.add(name);
    else ready++;
  }
  for (const name of unready) counted.delete(name);
  return { ready, unready, missing, metrics: counted };
}

/** Whether the CPU usage of a pod shows its load and not its startup. */
function isCpuMeaningful(
  { status }: Pod,
  { atMs, windowMs }: PodMetric,
  { cpuInitializationMs, initialReadinessMs }: ReadinessSettings,
  nowMs: number,
): boolean {
  const condition = findCondition(status?.conditions, 'Ready');
  const startMs = parseTime(status?.startTime);
  if (condition === undefined || startMs === undefined) return false;
  const sinceMs = parseTime(condition.lastTransitionTime) ?? -Infinity;
  // During startup, the value counts only if the pod was ready for the whole measured interval.
  if (startMs + cpuInitializationMs > nowMs) return condition.status !== 'False' && atMs >= sinceMs + windowMs;
  return condition.status !== 'False' || startMs + initialReadinessMs <= sinceMs;
}

export function countReady(pods: readonly Pod[]): number {
  return pods.reduce((sum, pod) => (pod.status?.phase === 'Running' && isPodReady(pod) ? sum + 1 : sum), 0);
}

/**
 * Returns the requests of each pod in thousandths, by name. A string names a missing request (upstream:
 * calculateRequests).
 */
export function requestsOf(
  pods: readonly Pod[],
  resource: string,
  container: string | undefined,
): ReadonlyMap<string, bigint> | string {
  const requests = new Map<string, bigint>();
  for (const pod of pods) {
    const request = requestOf(pod, resource, container);
    if (typeof request === 'string') return request;
    requests.set(pod.metadata.name, request);
  }
  return requests;
}

function requestOf(pod: Pod, resource: string, wanted: string | undefined): bigint | string {
  const { name } = pod.metadata;
  if (wanted === undefined && hasPodLevelRequests(pod)) {
    const amount = podRequests(pod)[resource];
    return amount === undefined ? `missing pod-level request for ${resource} in Pod ${name}` : quantityMillis(amount);
  }
  const containers = [...pod.spec.containers, ...(pod.spec.initContainers ?? []).filter(isRestartableInit)];
  let sum = 0n;
  for (const container of containers) {
    if (wanted !== undefined && wanted !== container.name) continue;
    const amount = container.resources?.requests?.[resource];
    if (amount === undefined) return `missing request for ${resource} in container ${container.name} of Pod ${name}`;
    sum += quantityMillis(amount);
    if (wanted !== undefined) return sum;
  }
  return wanted === undefined ? sum : `container ${wanted} not found in Pod ${name}`;
}

const hasPodLevelRequests = ({ spec }: Pod): boolean =>
  Object.keys(spec.resources?.requests ?? {}).some(isPodLevelResource);
