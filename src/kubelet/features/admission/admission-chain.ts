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

/** Checks of other features, run at their place in upstream's order. A missing check accepts every pod. */
export interface OtherChecks {
  /** Rejects the pod if the node is under pressure and does not admit pods of its kind. */
  readonly eviction?: AdmissionCheck;
  readonly sysctls?: AdmissionCheck;
  /** The allocations of the CPU, memory, topology and device managers. */
  readonly allocate?: AdmissionCheck;
  readonly appArmor?: AdmissionCheck;
  readonly nodeShutdown?: AdmissionCheck;
}

export interface ChainOptions {
  readonly checks: OtherChecks;
  /**
   * Whether the node runs without an API server. Then every pod is static, so all pods are critical, and priorities
   * come only from the manifests.
   */
  readonly standalone: boolean;
  /** The gate PodLevelResources. */
  readonly podLevelResources: boolean;
  /** The gate TaintTolerationComparisonOperators. */
  readonly taintComparisons: boolean;
}

export type ChainVerdict =
  | { kind: 'admit' }
  | ({ kind: 'reject' } & Rejection)
  /** `resource` is the first resource of which the node has too little. */
  | { kind: 'preempt'; victims: readonly Pod[]; shortage: Rejection; resource: string };

/**
 * Decides whether the node admits a pod, in the order of upstream's handlers (kubelet.go): eviction, sysctls, resource
 * managers, predicates (OS, groups policy, resources, affinity, name, ports, taints), AppArmor, pod features, declared
 * features, node shutdown. The first check that rejects the pod supplies the reason. Preemption for a critical pod
 * comes last, so that no pod is stopped for one that another check rejects.
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

/**
 * Runs the predicates and, for a critical pod, preemption (upstream: predicateAdmitHandler with
 * CriticalPodAdmissionHandler).
 */
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
