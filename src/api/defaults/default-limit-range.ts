import type { LimitRange, LimitRangeItem } from '../core/limit-range.ts';
import { roundList } from './default-container.ts';

/** A copy with the defaults that the API server sets (upstream: SetDefaults_LimitRangeItem). */
export function defaultLimitRange(range: LimitRange): LimitRange {
  return { ...range, spec: { ...range.spec, limits: range.spec.limits.map(defaultItem) } };
}

/**
 * For containers, the maximum is the default of the default limit. The default limit, or else the minimum, is the
 * default of the default request.
 */
function defaultItem(item: LimitRangeItem): LimitRangeItem {
  const rounded: LimitRangeItem = { ...item };
  for (const field of ['max', 'min', 'default', 'defaultRequest', 'maxLimitRequestRatio'] as const) {
    const list = rounded[field];
    if (list !== undefined) rounded[field] = roundList(list);
  }
  if (item.type !== 'Container') return rounded;
  const limits = { ...rounded.max, ...rounded.default };
  return { ...rounded, default: limits, defaultRequest: { ...rounded.min, ...limits, ...rounded.defaultRequest } };
}
