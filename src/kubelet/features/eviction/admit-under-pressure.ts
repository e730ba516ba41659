import type { Pod } from '../../../api/core/pod.ts';
import { untoleratedTaint } from '../../../api/node-selection.ts';
import { isCriticalPod } from '../../../api/pod.ts';
import { podQos } from '../../../api/qos.ts';
import { podReasons } from '../../../api/reasons.ts';
import { pressureMessage } from './eviction-message.ts';
import type { PressureCondition } from './signals.ts';

const memoryPressureTaint = { key: 'node.kubernetes.io/memory-pressure', effect: 'NoSchedule' } as const;

/**
 * Returns why a node under pressure rejects the pod, or undefined when it does not (upstream: eviction_manager.go
 * Admit). Critical pods are always admitted. If only memory is short, pods with requests or a toleration are admitted
 * too.
 */
export function rejectionUnderPressure(
  pod: Pod,
  conditions: readonly PressureCondition[],
  taintComparisons: boolean,
): { reason: string; message: string } | undefined {
  if (conditions.length === 0 || isCriticalPod(pod)) return undefined;
  if (conditions.length === 1 && conditions[0] === 'MemoryPressure') {
    if (podQos(pod) !== 'BestEffort') return undefined;
    if (untoleratedTaint(pod, [memoryPressureTaint], taintComparisons, ['NoSchedule']) === undefined) return undefined;
  }
  return { reason: podReasons.evicted, message: pressureMessage(conditions) };
}
