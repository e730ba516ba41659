import type { ResourceQuota } from '../core/resource-quota.ts';
import { roundList } from './default-container.ts';

/** A copy with the defaults that the API server sets. */
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
