import type { Pod } from '../../../../api/core/pod.ts';
import type { PodRuntimeStatus } from '../../../model/runtime-status.ts';
import { computePodActions } from '../plan/compute-pod-actions.ts';
import type { PlanFacts } from '../plan/plan-facts.ts';
import { factsOf } from './builders.ts';

/** Returns the plan as short texts: `kill app-0 LivenessProbe`, `start regular app#1`. */
export function plan(pod: Pod, status: PodRuntimeStatus, more: Partial<PlanFacts> = {}): string[] {
  return computePodActions(factsOf(pod, status, more)).steps.map((step) => {
    switch (step.kind) {
      case 'killPod':
        return `killPod ${step.reason} ${step.graceMs}`;
      case 'createSandbox':
        return `sandbox ${step.attempt} ${step.reason}`;
      case 'killContainer':
        return `kill ${step.id} ${step.reason}${step.graceMs === undefined ? '' : ` ${step.graceMs}`}`;
      case 'removeContainer':
        return `remove ${step.id} ${step.reason}`;
      case 'resizePod':
        return `pod ${step.phase} ${step.resource}`;
      case 'resizeContainer':
        return `resize ${step.id} ${step.resource}`;
      case 'startContainer':
        return `start ${step.role} ${step.name}#${step.attempt}${step.adopt === undefined ? '' : ' adopted'}`;
    }
  });
}
