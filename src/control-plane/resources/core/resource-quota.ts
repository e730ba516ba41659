import { resourceQuotas } from '../../../api/client/resource-types.ts';
import type { ResourceQuota } from '../../../api/core/resource-quota.ts';
import { ResourceQuotaSchema } from '../../../api/core/resource-quota.ts';
import { defaultResourceQuota } from '../../../api/defaults/default-resource-quota.ts';
import { compareQuantities } from '../../../api/quantity.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateResourceQuota,
  validateResourceQuotaStatus,
  validateResourceQuotaUpdate,
} from '../../../api/validation/validate-resource-quota.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn } from '../print-cells.ts';

/** Formats the usage: `cpu: 1/2, pods: 3/10`. Limits have their own column. */
function usageText({ status }: ResourceQuota, ofLimits: boolean): string {
  const names = Object.keys(status?.hard ?? {}).sort();
  return names
    .filter((name) => name.startsWith('limits.') === ofLimits)
    .map((name) => `${name}: ${status?.used?.[name] ?? '0'}/${status?.hard?.[name] ?? '0'}`)
    .join(', ');
}

/** Warns of requests that the limits do not allow. */
function quotaWarnings({ spec: { hard = {} } }: ResourceQuota, old: ResourceQuota | undefined): string[] {
  if (old !== undefined) return [];
  return ['cpu', 'memory', 'storage', 'ephemeral-storage'].flatMap((name) => {
    const plain = name === 'cpu' || name === 'memory' ? name : undefined;
    const requestName = hard[`requests.${name}`] === undefined ? plain : `requests.${name}`;
    const request = requestName === undefined ? undefined : hard[requestName];
    const limit = hard[`limits.${name}`];
    if (request === undefined || limit === undefined || compareQuantities(request, limit) <= 0) return [];
    return [`ResourceQuota ${requestName} (${request}) should be less than limits.${name} (${limit})`];
  });
}

export const resourceQuotaResource = defineResource<ResourceQuota>({
  type: resourceQuotas,
  singular: 'resourcequota',
  shortNames: ['quota'],
  schema: ResourceQuotaSchema,
  storagePath: 'resourcequotas',
  rules: {
    applyDefaults: defaultResourceQuota,
    prepareForCreate: (quota) => ({ ...quota, status: {} }),
    validate: validateResourceQuota,
    validateName: checkDnsSubdomain,
    validateUpdate: validateResourceQuotaUpdate,
    validateStatusUpdate: validateResourceQuotaStatus,
    warnings: quotaWarnings,
    returnsDeleted: true,
  },
  hasStatus: true,
  columns: [
    {
      name: 'Request',
      type: 'string',
      description: 'Used of what is allowed.',
      cell: (quota) => usageText(quota, false),
    },
    {
      name: 'Limit',
      type: 'string',
      description: 'Used of the limits that are allowed.',
      cell: (quota) => usageText(quota, true),
    },
    ageColumn,
  ],
});
