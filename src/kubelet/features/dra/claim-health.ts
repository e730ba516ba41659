import type { ResourceHealth, ResourceStatus } from '../../../api/core/pod-status.ts';
import type { ClaimDevice, ClaimUse } from './claim-info.ts';
import type { DeviceHealth } from './device-health.ts';

/**
 * Computes the health of the devices of a container's claims, for its status; undefined if it has none. A device is
 * identified by its first CDI id (upstream: cm/dra UpdateAllocatedResourcesStatus).
 */
export function computeClaimHealth(
  uses: readonly ClaimUse[],
  healthOf: (device: ClaimDevice) => DeviceHealth | undefined,
  { withMessages }: { readonly withMessages: boolean },
): ResourceStatus[] | undefined {
  const statuses = new Map<string, ResourceStatus>();
  for (const { name, request, devices } of uses) {
    const resources = new Map<string, ResourceHealth>();
    for (const device of devices) {
      const resourceID = device.cdiDeviceIds[0] ?? `${device.driver}/${device.poolName}/${device.deviceName}`;
      if (resources.has(resourceID)) continue;
      const { health = 'Unknown', message = '' } = healthOf(device) ?? {};
      resources.set(resourceID, { resourceID, health, ...(withMessages && message !== '' && { message }) });
    }
    const shown = request === undefined ? `claim:${name}` : `claim:${name}/${request}`;
    if (resources.size > 0) statuses.set(shown, { name: shown, resources: [...resources.values()] });
  }
  return statuses.size === 0 ? undefined : [...statuses.values()];
}
