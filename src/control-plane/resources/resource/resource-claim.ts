import { resourceClaims } from '../../../api/client/resource-types.ts';
import { defaultResourceClaim } from '../../../api/defaults/default-resource.ts';
import { deviceKey } from '../../../api/resource/device-key.ts';
import type { ResourceClaim } from '../../../api/resource/resource-claim.ts';
import { ResourceClaimSchema } from '../../../api/resource/resource-claim.ts';
import { validateResourceClaimStatus } from '../../../api/validation/devices/validate-claim-status.ts';
import {
  validateResourceClaim,
  validateResourceClaimUpdate,
} from '../../../api/validation/devices/validate-resource-claim.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';
import { checkDeviceSelectors, selectorsOfClaim } from './device-expressions.ts';

/** Removes the status of devices that are no longer allocated. */
function dropDeallocatedDevices(claim: ResourceClaim, old: ResourceClaim): ResourceClaim {
  if (claim.status?.devices === undefined) return claim;
  const freed = new Set((old.status?.allocation?.devices.results ?? []).map(deviceKey));
  for (const result of claim.status.allocation?.devices.results ?? []) freed.delete(deviceKey(result));
  const { devices: reported, ...status } = claim.status;
  const devices = reported.filter((device) => !freed.has(deviceKey(device)));
  return { ...claim, status: { ...status, ...(devices.length > 0 && { devices }) } };
}

/** Returns the state as kubectl shows it (upstream: printers resourceClaimState). */
function stateOf({ metadata, status }: ResourceClaim): string {
  const states = metadata.deletionTimestamp === undefined ? [] : ['deleted'];
  if (status?.allocation === undefined) return [...states, ...(states.length === 0 ? ['pending'] : [])].join(',');
  states.push('allocated');
  if ((status.reservedFor ?? []).length > 0) states.push('reserved');
  return states.join(',');
}

export const resourceClaimResource = defineResource<ResourceClaim>({
  type: resourceClaims,
  singular: 'resourceclaim',
  schema: ResourceClaimSchema,
  storagePath: 'resourceclaims',
  rules: {
    applyDefaults: defaultResourceClaim,
    validate: (claim) => [
      ...validateResourceClaim(claim),
      ...checkDeviceSelectors(selectorsOfClaim('spec.devices', claim.spec.devices)),
    ],
    validateName: checkDnsSubdomain,
    validateUpdate: validateResourceClaimUpdate,
    prepareForStatusUpdate: dropDeallocatedDevices,
    validateStatusUpdate: validateResourceClaimStatus,
    returnsDeleted: true,
  },
  hasStatus: true,
  resetFields: { status: ['metadata', 'spec'] },
  columns: [{ name: 'State', type: 'string', description: 'Pending, allocated, reserved or deleted.', cell: stateOf }],
});
