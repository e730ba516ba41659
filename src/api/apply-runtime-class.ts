import { ownValue } from '../base/lookup.ts';
import type { Pod } from './core/pod.ts';
import type { ResourceList } from './core/resource-requirements.ts';
import type { Toleration } from './core/scheduling.ts';
import type { RuntimeClass } from './node/runtime-class.ts';
import { compareQuantities } from './quantity.ts';

/** Upstream's message for an overhead without a runtime class. */
export const OVERHEAD_WITHOUT_CLASS =
  'pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead';

export type AppliedRuntimeClass =
  | { readonly kind: 'applied'; readonly pod: Pod }
  | { readonly kind: 'refused'; readonly message: string };

/**
 * Changes a pod with this runtime class as the API server does (upstream: the admission plugin RuntimeClass): sets its
 * overhead and restricts its nodes.
 */
export function applyRuntimeClass(pod: Pod, { overhead, scheduling }: RuntimeClass): AppliedRuntimeClass {
  const spec = { ...pod.spec };
  if (overhead === undefined && spec.overhead !== undefined)
    return { kind: 'refused', message: OVERHEAD_WITHOUT_CLASS };
  if (overhead !== undefined) {
    const podFixed = overhead.podFixed ?? {};
    const own = spec.overhead ?? {};
    if (Object.keys(own).length > 0 && !sameAmounts(own, podFixed))
      return { kind: 'refused', message: "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead" };
    spec.overhead = podFixed;
  }
  if (scheduling !== undefined) {
    const { nodeSelector = {}, tolerations = [] } = scheduling;
    const own = spec.nodeSelector ?? {};
    const clash = Object.keys(nodeSelector).find((key) => Object.hasOwn(own, key) && own[key] !== nodeSelector[key]);
    if (clash !== undefined) {
      return {
        kind: 'refused',
        message: `conflict: runtimeClass.scheduling.nodeSelector[${clash}] = ${nodeSelector[clash]}; pod.spec.nodeSelector[${clash}] = ${own[clash]}`,
      };
    }
    if (Object.keys(nodeSelector).length > 0) spec.nodeSelector = { ...own, ...nodeSelector };
    if (tolerations.length > 0) spec.tolerations = mergeTolerations([...(spec.tolerations ?? []), ...tolerations]);
  }
  return { kind: 'applied', pod: { ...pod, spec } };
}

function sameAmounts(left: ResourceList, right: ResourceList): boolean {
  const names = new Set([...Object.keys(left), ...Object.keys(right)]);
  return [...names].every((name) => {
    const [one, other] = [ownValue(left, name), ownValue(right, name)];
    return one !== undefined && other !== undefined && compareQuantities(one, other) === 0;
  });
}

/**
 * Keeps only one of two tolerations that are equal or of which one covers the other (upstream: util/tolerations
 * MergeTolerations).
 */
function mergeTolerations(all: readonly Toleration[]): Toleration[] {
  const merged: Toleration[] = [];
  for (const [index, toleration] of all.entries()) {
    const others = [...merged, ...all.slice(index + 1)];
    if (!others.some((other) => tolerates(other, toleration))) merged.push(toleration);
  }
  return merged;
}

/** Whether `wide` tolerates everything that `narrow` does. */
function tolerates(wide: Toleration, narrow: Toleration): boolean {
  const { key = '', operator = 'Equal', value = '', effect = '', tolerationSeconds } = wide;
  if (key !== (narrow.key ?? '') && !(key === '' && operator === 'Exists')) return false;
  if (effect !== '' && effect !== (narrow.effect ?? '')) return false;
  if (
    effect === 'NoExecute' &&
    tolerationSeconds !== undefined &&
    (narrow.tolerationSeconds === undefined || narrow.tolerationSeconds > tolerationSeconds)
  )
    return false;
  return operator === 'Exists' || ((narrow.operator ?? 'Equal') === 'Equal' && value === (narrow.value ?? ''));
}
