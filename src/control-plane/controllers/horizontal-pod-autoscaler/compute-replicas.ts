import type { Pod } from '../../../api/core/pod.ts';
import { INT32_MAX } from '../../../api/validation/names.ts';
import type { PodMetric, PodMetrics } from './metrics-source.ts';
import { countReady, groupPods, requestsOf } from './pod-usage.ts';
import type { PodGroups, ReadinessSettings } from './pod-usage.ts';

/** The tolerance: how far the ratio of value and target may be from 1 without a change. */
export interface Tolerances {
  readonly up: number;
  readonly down: number;
}

/** The input of all computations. */
export interface ReplicaFacts {
  readonly currentReplicas: number;
  readonly pods: readonly Pod[];
  readonly tolerances: Tolerances;
  readonly settings: ReadinessSettings;
  readonly nowMs: number;
}

/** A number of pods, and the value from which it was computed. */
export interface Proposal {
  readonly replicas: number;
  readonly milliValue: bigint;
  readonly percent?: number;
}

const NO_PODS = 'no pods returned by selector while calculating replica count';
const NO_METRICS = 'did not receive metrics for targeted pods (pods might be unready)';
const INT64_MAX = 2n ** 63n - 1n;

const isWithin = ({ up, down }: Tolerances, ratio: number): boolean => 1 - down <= ratio && ratio <= 1 + up;
const roundedUp = (replicas: number): number => Math.min(INT32_MAX, Math.ceil(replicas));

/**
 * Computes the number from the utilization of the pods' requests (upstream: GetResourceReplicas). A string is the
 * error.
 */
export function replicasForUtilization(
  facts: ReplicaFacts,
  metrics: PodMetrics,
  target: { readonly resource: string; readonly container?: string; readonly percent: number },
): Proposal | string {
  const groups = groupsOf(facts, metrics, target.resource);
  if (typeof groups === 'string') return groups;
  const requests = requestsOf(facts.pods, target.resource, target.container);
  if (typeof requests === 'string') return requests;
  const utilization = utilizationOf(groups.metrics, requests);
  if (utilization === undefined) return 'no metrics returned matched known pods';
  const fallback = BigInt(Math.max(100, target.percent));
  const replicas = replicasForPods(facts, groups, {
    ratio: utilization.percent / target.percent,
    // A pod without a value counts as using its full request when scaling down.
    assumed: (name) => ((requests.get(name) ?? 0n) * fallback) / 100n,
    // Pods with more values request no less.
    ratioOf: (filled) => (utilizationOf(filled, requests) ?? utilization).percent / target.percent,
  });
  return { replicas, ...utilization };
}

/** Computes the number from the average of a value per pod (upstream: calcPlainMetricReplicas). */
export function replicasForAverage(
  facts: ReplicaFacts,
  metrics: PodMetrics,
  target: { readonly resource: string; readonly milliValue: bigint },
): Proposal | string {
  const groups = groupsOf(facts, metrics, target.resource);
  if (typeof groups === 'string') return groups;
  const ratioOf = (filled: PodMetrics): number => Number(averageOf(filled)) / Number(target.milliValue);
  const replicas = replicasForPods(facts, groups, {
    ratio: ratioOf(groups.metrics),
    assumed: () => target.milliValue,
    ratioOf,
  });
  return { replicas, milliValue: averageOf(groups.metrics) };
}

/** Computes the number from one value for all pods (upstream: getUsageRatioReplicaCount). */
export function replicasForValue(
  { currentReplicas, pods, tolerances }: ReplicaFacts,
  milliValue: bigint,
  targetMilliValue: bigint,
): Proposal | string {
  const ratio = Number(milliValue) / Number(targetMilliValue);
  if (currentReplicas === 0) return { replicas: roundedUp(ratio), milliValue };
  if (isWithin(tolerances, ratio)) return { replicas: currentReplicas, milliValue };
  if (pods.length === 0) return `unable to calculate ready pods: ${NO_PODS}`;
  return { replicas: roundedUp(ratio * countReady(pods)), milliValue };
}

/**
 * Computes the number from one value that is divided by the number of pods (upstream: GetObjectPerPodMetricReplicas,
 * GetExternalPerPodMetricReplicas).
 */
export function replicasForShare(
  statusReplicas: number,
  tolerances: Tolerances,
  milliValue: bigint,
  targetMilliValue: bigint,
): Proposal {
  const ratio = Number(milliValue) / (Number(targetMilliValue) * statusReplicas);
  const replicas = isWithin(tolerances, ratio)
    ? statusReplicas
    : roundedUp(Number(milliValue) / Number(targetMilliValue));
  return { replicas, milliValue: shareOf(milliValue, statusReplicas) };
}

/** Adds the series of an external metric. */
export function sumOf(values: readonly bigint[]): bigint {
  const sum = values.reduce((total, value) => total + value, 0n);
  return sum > INT64_MAX ? INT64_MAX : sum;
}

function shareOf(milliValue: bigint, replicas: number): bigint {
  if (replicas === 0 || milliValue === INT64_MAX) return milliValue;
  const by = BigInt(replicas);
  const isRound = milliValue % by === 0n || milliValue < 0n;
  return isRound ? milliValue / by : milliValue / by + 1n;
}

function groupsOf(facts: ReplicaFacts, metrics: PodMetrics, resource: string): PodGroups | string {
  if (facts.pods.length === 0) return NO_PODS;
  const groups = groupPods(facts.pods, metrics, { resource, settings: facts.settings, nowMs: facts.nowMs });
  return groups.metrics.size === 0 ? NO_METRICS : groups;
}

interface Ratios {
  readonly ratio: number;
  /** Returns the assumed value of a pod without a value, when scaling down. */
  readonly assumed: (name: string) => bigint;
  /** Returns the ratio with assumed values for pods without one. */
  readonly ratioOf: (filled: PodMetrics) => number;
}

/** Computes the number with missing values. Assumed values never increase the change or reverse its direction. */
function replicasForPods(
  { currentReplicas, tolerances }: ReplicaFacts,
  { ready, unready, missing, metrics }: PodGroups,
  { ratio, assumed, ratioOf }: Ratios,
): number {
  const countsUnready = unready.size > 0 && ratio > 1;
  if (!countsUnready && missing.size === 0)
    return isWithin(tolerances, ratio) ? currentReplicas : roundedUp(ratio * ready);
  const filled = new Map(metrics);
  const fill = (name: string, milliValue: bigint): void => void filled.set(name, { ...nothing, milliValue });
  for (const name of missing) {
    if (ratio < 1) fill(name, assumed(name));
    else if (ratio > 1) fill(name, 0n);
  }
  if (countsUnready) for (const name of unready) fill(name, 0n);
  const next = ratioOf(filled);
  if (isWithin(tolerances, next) || (ratio < 1 && next > 1) || (ratio > 1 && next < 1)) return currentReplicas;
  const replicas = roundedUp(next * filled.size);
  const turns = (next < 1 && replicas > currentReplicas) || (next > 1 && replicas < currentReplicas);
  return turns ? currentReplicas : replicas;
}

const nothing: PodMetric = { milliValue: 0n, atMs: 0, windowMs: 0 };

/**
 * Returns the percentage of the requests, rounded down, and the average value of a pod (upstream:
 * GetResourceUtilizationRatio).
 */
function utilizationOf(
  metrics: PodMetrics,
  requests: ReadonlyMap<string, bigint>,
): { readonly percent: number; readonly milliValue: bigint } | undefined {
  let [used, requested, count] = [0n, 0n, 0n];
  for (const [name, { milliValue }] of metrics) {
    const request = requests.get(name);
    if (request === undefined) continue;
    used += milliValue;
    requested += request;
    count++;
  }
  if (requested === 0n) return undefined;
  return { percent: Math.min(INT32_MAX, Number((used * 100n) / requested)), milliValue: used / count };
}

function averageOf(metrics: PodMetrics): bigint {
  let sum = 0n;
  for (const { milliValue } of metrics.values()) sum += milliValue;
  return sum / BigInt(metrics.size);
}
