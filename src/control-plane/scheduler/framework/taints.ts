import type { Taint } from '../../../api/core/node.ts';
import type { Toleration } from '../../../api/core/scheduling.ts';

/** Whether the toleration matches this taint (core/v1 ToleratesTaint; Lt and Gt are alpha upstream and off). */
function toleratesTaint(toleration: Toleration, taint: Taint): boolean {
  // Empty strings are equal to absent fields.
  const {
    effect = '',
    key = '',
    operator = '',
    value = '',
  }: { effect?: string; key?: string; operator?: string; value?: string } = toleration;
  if ((effect !== '' && effect !== taint.effect) || (key !== '' && key !== taint.key)) return false;
  return operator === 'Exists' || ((operator === '' || operator === 'Equal') && value === (taint.value ?? ''));
}

export function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  for (const toleration of tolerations) if (toleratesTaint(toleration, taint)) return true;
  return false;
}

/**
 * Returns the first untolerated taint with effect `NoSchedule` or `NoExecute`. `PreferNoSchedule` does not exclude a
 * node.
 */
export function findUntoleratedTaint(taints: readonly Taint[], tolerations: readonly Toleration[]): Taint | undefined {
  for (const taint of taints) if (taint.effect !== 'PreferNoSchedule' && !isTolerated(taint, tolerations)) return taint;
  return undefined;
}
