import { isCriticalPod } from '../../../api/pod.ts';
import { givenPriority, standalonePriority } from '../../../api/pod-priority.ts';
import { podReasons } from '../../../api/reasons.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { AdmissionCheck, AdmissionQuestion, Rejection } from './admission-check.ts';
import {
  checkDeclaredFeatures,
  checkNoPodLevelResources,
  checkOsField,
  checkOsLabel,
  checkSupplementalGroupsPolicy,
  computePredicates,
  rejectionOf,
} from './predicates.ts';
import { needsText, selectVictims } from './preemption.ts';

/** Checks of other features, each at its place in upstream's order. An absent check passes every pod. */
export interface OtherChecks {
  /** The node is under pressure and takes no more pods of this kind. */
  readonly eviction?: AdmissionCheck;
  readonly sysctls?: AdmissionCheck;
  /** CPU, memory, topology and device managers. */
  readonly allocate?: AdmissionCheck;
  readonly appArmor?: AdmissionCheck;
  readonly nodeShutdown?: AdmissionCheck;
}

export interface ChainOptions {
  readonly checks: OtherChecks;
  /** No API server: every pod is static, so all are critical, and priorities come from the manifests alone. */
  readonly standalone: boolean;
  /** Gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** Gate TaintTolerationComparisonOperators. */
  readonly taintComparisons: boolean;
}

export type ChainVerdict =
  | { kind: 'admit' }
  | ({ kind: 'reject' } & Rejection)
  /** `resource` is the first resource that is short. */
  | { kind: 'preempt'; victims: readonly Pod[]; shortage: Rejection; resource: string };

/**
 * Decides whether the node takes a pod, in the order of upstream's handlers (kubelet.go): eviction, sysctls, resource
 * managers, predicates (OS, groups policy, resources, affinity, name, ports, taints), AppArmor, pod features, declared
 * features, node shutdown. The first that refuses gives the reason. Preemption for a critical pod comes last, so that
 * no pod is stopped for one that cannot run anyway.
 */
export function judgeAdmission(question: AdmissionQuestion, options: ChainOptions): ChainVerdict {
  const { checks } = options;
  const before = firstRejection(question, [
    checks.eviction,
    checks.sysctls,
    checks.allocate,
    checkOsLabel,
    checkOsField,
    checkSupplementalGroupsPolicy,
  ]);
  if (before !== undefined) return { kind: 'reject', ...before };
  const room = judgeRoom(question, options);
  if (room.kind === 'reject') return room;
  const podFeatures = options.podLevelResources ? undefined : checkNoPodLevelResources;
  const after = firstRejection(question, [checks.appArmor, podFeatures, checkDeclaredFeatures, checks.nodeShutdown]);
  return after === undefined ? room : { kind: 'reject', ...after };
}

function firstRejection(
  question: AdmissionQuestion,
  checks: readonly (AdmissionCheck | undefined)[],
): Rejection | undefined {
  for (const check of checks) {
    const rejection = check?.(question);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

/** Upstream: predicateAdmitHandler with CriticalPodAdmissionHandler. */
function judgeRoom(question: AdmissionQuestion, { standalone, taintComparisons }: ChainOptions): ChainVerdict {
  const { pod, others } = question;
  const { shortages, misfits } = computePredicates(question, { taintComparisons });
  const [shortage] = shortages;
  const [misfit] = misfits;
  // Missing resources of a critical pod are reported only if no other check rejects it too.
  if (misfit !== undefined && (shortage === undefined || isCriticalPod(pod))) return { kind: 'reject', ...misfit };
  if (shortage === undefined) return { kind: 'admit' };
  if (!isCriticalPod(pod)) return { kind: 'reject', ...rejectionOf(shortage) };
  const selected = selectVictims(pod, others, {
    shortages,
    priorityOf: standalone ? standalonePriority : givenPriority,
  });
  if ('victims' in selected)
    return { kind: 'preempt', victims: selected.victims, shortage: rejectionOf(shortage), resource: shortage.resource };
  if (standalone) return { kind: 'reject', ...rejectionOf(shortage) };
  const why = `preemption: error finding a set of pods to preempt: no set of running pods found to reclaim resources: ${needsText(selected.missing)}`;
  return {
    kind: 'reject',
    reason: podReasons.unexpectedAdmissionError,
    message: `Unexpected error while attempting to recover from admission failure: ${why}`,
  };
}
