import type { LimitRange, LimitRangeItem } from '../core/limit-range.ts';
import type { Namespace } from '../core/namespace.ts';
import type { ResourceList } from '../core/resource-requirements.ts';
import type { ResourceQuota } from '../core/resource-quota.ts';
import { roundListInPlace } from './default-container.ts';

/** A copy as the API server would have stored it; the name is also a label, by which selectors of namespaces find it. */
export function defaultNamespace(namespace: Namespace): Namespace {
  const { metadata, status } = namespace;
  const labelled =
    metadata.name === ''
      ? metadata
      : { ...metadata, labels: { ...metadata.labels, 'kubernetes.io/metadata.name': metadata.name } };
  return { ...namespace, metadata: labelled, status: { ...status, phase: status?.phase || 'Active' } };
}

/** A copy as the API server would have stored it (upstream: SetDefaults_LimitRangeItem). */
export function defaultLimitRange(range: LimitRange): LimitRange {
  return { ...range, spec: { ...range.spec, limits: range.spec.limits.map(defaultItem) } };
}

/** Of containers, a maximum is also the default limit, which is also the default request, and so is a minimum. */
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

/** A copy as the API server would have stored it. */
export function defaultResourceQuota(quota: ResourceQuota): ResourceQuota {
  const { spec, status } = quota;
  return {
    ...quota,
    spec: { ...spec, ...(spec.hard !== undefined && { hard: roundList(spec.hard) }) },
    ...(status !== undefined && {
      status: {
        ...status,
        ...(status.hard !== undefined && { hard: roundList(status.hard) }),
        ...(status.used !== undefined && { used: roundList(status.used) }),
      },
    }),
  };
}

function roundList(list: ResourceList): ResourceList {
  const copy = { ...list };
  roundListInPlace(copy);
  return copy;
}
