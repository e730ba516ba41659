import type { Taint } from '../../../api/core/node.ts';
import type { Toleration } from '../../../api/core/scheduling.ts';

/** Whether the toleration speaks of this taint (core/v1 ToleratesTaint; Lt and Gt are alpha upstream and off). */
export function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect !== undefined && toleration.effect !== taint.effect) return false;
  if (toleration.key !== undefined && toleration.key !== '' && toleration.key !== taint.key) return false;
  switch (toleration.operator) {
    case undefined:
    case 'Equal':
      return (toleration.value ?? '') === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
    case 'Gt':
      return false;
  }
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  for (const toleration of tolerations) if (toleratesTaint(toleration, taint)) return true;
  return false;
}

/** The first taint that keeps the pod away: `NoSchedule` and `NoExecute` do, `PreferNoSchedule` does not. */
export function findUntoleratedTaint(taints: readonly Taint[], tolerations: readonly Toleration[]): Taint | undefined {
  for (const taint of taints) if (taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations)) return taint;
  return undefined;
}
