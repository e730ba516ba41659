import { ownValue } from '../../../../base/lookup.ts';
import { withCondition } from '../../../../api/conditions.ts';
import type { LabelSelector } from '../../../../api/core/meta.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { PodSpec } from '../../../../api/core/pod-spec.ts';
import type { PodCondition, PodStatus } from '../../../../api/core/pod-status.ts';
import type { PodAffinityTerm, WeightedPodAffinityTerm } from '../../../../api/core/scheduling.ts';
import { isTerminalPhase } from '../../../../api/pod.ts';
import { computePodQos } from '../../../../api/qos.ts';
import { formatTime } from '../../../../api/time.ts';

/** Prepares a new pod (upstream: the pod strategy's PrepareForCreate). */
export function preparePodForCreate(pod: Pod, { nowMs }: { readonly nowMs: number }): Pod {
  const gated = (pod.spec.schedulingGates ?? []).length > 0;
  const conditions: PodCondition[] = [
    {
      type: 'PodScheduled',
      status: 'False',
      lastTransitionTime: formatTime(nowMs),
      reason: 'SchedulingGated',
      message: 'Scheduling is blocked due to non-empty scheduling gates',
    },
  ];
  return {
    ...pod,
    spec: withLabelKeys(pod.spec, pod.metadata.labels ?? {}),
    status: { phase: 'Pending', ...(gated && { conditions }), qosClass: computePodQos(pod) },
  };
}

/** Adds label keys of affinity and spreading as requirements, with the pod's current labels. */
function withLabelKeys(spec: PodSpec, labels: Readonly<Record<string, string>>): PodSpec {
  const { affinity, topologySpreadConstraints } = spec;
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  if (podAffinity === undefined && podAntiAffinity === undefined && topologySpreadConstraints === undefined)
    return spec;
  const byTerm = (term: PodAffinityTerm): PodAffinityTerm => {
    const first = selectKeys(term.labelSelector, term.matchLabelKeys, 'In', labels);
    return { ...term, labelSelector: selectKeys(first, term.mismatchLabelKeys, 'NotIn', labels) };
  };
  const terms = <
    A extends {
      requiredDuringSchedulingIgnoredDuringExecution?: PodAffinityTerm[];
      preferredDuringSchedulingIgnoredDuringExecution?: WeightedPodAffinityTerm[];
    },
  >(
    from: A,
  ): A => ({
    ...from,
    ...(from.requiredDuringSchedulingIgnoredDuringExecution !== undefined && {
      requiredDuringSchedulingIgnoredDuringExecution: from.requiredDuringSchedulingIgnoredDuringExecution.map(byTerm),
    }),
    ...(from.preferredDuringSchedulingIgnoredDuringExecution !== undefined && {
      preferredDuringSchedulingIgnoredDuringExecution: from.preferredDuringSchedulingIgnoredDuringExecution.map(
        (each) => ({ ...each, podAffinityTerm: byTerm(each.podAffinityTerm) }),
      ),
    }),
  });
  return {
    ...spec,
    ...(affinity !== undefined && {
      affinity: {
        ...affinity,
        ...(podAffinity !== undefined && { podAffinity: terms(podAffinity) }),
        ...(podAntiAffinity !== undefined && { podAntiAffinity: terms(podAntiAffinity) }),
      },
    }),
    ...(topologySpreadConstraints !== undefined && {
      topologySpreadConstraints: topologySpreadConstraints.map((constraint) => ({
        ...constraint,
        labelSelector: selectKeys(constraint.labelSelector, constraint.matchLabelKeys, 'In', labels),
      })),
    }),
  };
}

/** Adds the keys to a selector. A missing selector selects nothing and stays missing. */
function selectKeys(
  selector: LabelSelector | undefined,
  keys: readonly string[] | undefined,
  operator: 'In' | 'NotIn',
  labels: Readonly<Record<string, string>>,
): LabelSelector | undefined {
  const added = (keys ?? []).flatMap((key) => {
    const value = ownValue(labels, key);
    return value === undefined ? [] : [{ key, operator, values: [value] }];
  });
  return selector === undefined || added.length === 0
    ? selector
    : { ...selector, matchExpressions: [...(selector.matchExpressions ?? []), ...added] };
}

/**
 * Prepares a status update (upstream: the pod status strategy's PrepareForUpdate). Old kubelets know neither the class
 * nor generations, so values that they leave out are kept.
 */
export function preparePodStatusUpdate(pod: Pod, old: Pod): Pod {
  const { ownerReferences: _, ...metadata } = pod.metadata;
  const { ownerReferences } = old.metadata;
  const status: PodStatus = { ...pod.status };
  if (!status.qosClass && old.status?.qosClass) status.qosClass = old.status.qosClass;
  if (!status.observedGeneration && old.status?.observedGeneration)
    status.observedGeneration = old.status.observedGeneration;
  pairAddresses(status);
  if (status.conditions !== undefined)
    status.conditions = keepGenerations(status.conditions, old.status?.conditions ?? []);
  return {
    ...pod,
    metadata: { ...metadata, ...(ownerReferences !== undefined && { ownerReferences }) },
    spec: old.spec,
    status,
  };
}

/**
 * `podIP` and `podIPs` are kept equal; if they differ, `podIP` wins (upstream: conversion of PodStatus). Changes its
 * argument.
 */
function pairAddresses(status: PodStatus): void {
  const first = status.podIPs?.[0]?.ip;
  if (status.podIP && status.podIP !== first) status.podIPs = [{ ip: status.podIP }];
  else if (first) status.podIP = first;
}

function keepGenerations(conditions: readonly PodCondition[], old: readonly PodCondition[]): PodCondition[] {
  // There may be several of one type. They are paired in order.
  const left = Map.groupBy(old.toReversed(), ({ type }) => type);
  return conditions.map((condition) => {
    const before = left.get(condition.type)?.pop();
    return condition.observedGeneration || !before?.observedGeneration
      ? condition
      : { ...condition, observedGeneration: before.observedGeneration };
  });
}

/** Times after the year 9999 cannot be formatted; this limit is 4355 years. */
const LONGEST_GRACE_SECONDS = 2 ** 37;

/**
 * Returns the seconds for which a deleted pod stays. A pod that runs nowhere is removed immediately (upstream:
 * CheckGracefulDelete).
 */
export function podGraceSeconds({ spec, status }: Pod, asked: number | undefined): number {
  if (!spec.nodeName || isTerminalPhase(status?.phase)) return 0;
  const seconds = asked ?? Number(spec.terminationGracePeriodSeconds ?? 0);
  return seconds < 0 ? 1 : Math.min(seconds, LONGEST_GRACE_SECONDS);
}

/** Sets one condition of the pod. Its time changes only with its status (upstream: UpdatePodCondition). */
export function withPodCondition(status: PodStatus, condition: PodCondition, nowMs: number): PodStatus {
  return { ...status, conditions: withCondition(status.conditions, condition, nowMs) };
}

/** A write to `ephemeralcontainers` can change only these. */
export function writeEphemeralContainers(current: Pod, body: Pod): Pod {
  const { ephemeralContainers } = body.spec;
  return { ...current, spec: { ...current.spec, ephemeralContainers } };
}

/**
 * A write to `resize` can change only resources and resize policies; validation refuses added, removed and renamed
 * containers.
 */
export function writeResize(current: Pod, body: Pod): Pod {
  const each = (field: 'containers' | 'initContainers'): Pick<PodSpec, typeof field> | undefined => {
    const before = current.spec[field] ?? [];
    const now = body.spec[field] ?? [];
    if (before.length !== now.length) return { [field]: now } as Pick<PodSpec, typeof field>;
    const same = now.every(({ name }, index) => before[index]?.name === name);
    const merged = before.map((container, index) => ({
      ...container,
      resources: now[index]?.resources,
      resizePolicy: now[index]?.resizePolicy,
    }));
    return before.length === 0 ? undefined : ({ [field]: same ? merged : now } as Pick<PodSpec, typeof field>);
  };
  return {
    ...current,
    spec: { ...current.spec, resources: body.spec.resources, ...each('containers'), ...each('initContainers') },
  };
}

/**
 * Sets negative grace periods to their minimum. Templates are not changed (upstream: core/v1/conversion.go
 * Convert_v1_Pod_To_core_Pod).
 */
export function withoutNegativeGrace(pod: Pod): Pod {
  const { terminationGracePeriodSeconds = 0 } = pod.spec;
  return terminationGracePeriodSeconds >= 0 ? pod : { ...pod, spec: { ...pod.spec, terminationGracePeriodSeconds: 1 } };
}
