import type { Pod } from '../../api/core/pod.ts';
import type { ResourceStatus } from '../../api/core/pod-status.ts';
import type { DeviceManager } from '../features/device-manager/device-manager.ts';
import type { DraParts } from '../features/dra/create-dra.ts';
import type { FeatureGates } from '../model/config/feature-gates.ts';
import { podUid } from '../model/ids.ts';

interface DeviceHealthParts {
  readonly gates: Pick<FeatureGates, 'enabled'>;
  readonly devices: { readonly manager: Pick<DeviceManager, 'health'> };
  readonly dra: Pick<DraParts, 'withClaims'>;
}

/**
 * Returns the health of a container's devices: first of device plugins, then of claims. Returns undefined if it has
 * none.
 */
export type DeviceHealth = (pod: Pod, container: string) => ResourceStatus[] | undefined;

/** Without the gate ResourceHealthStatus, statuses show no devices. */
export function createDeviceHealth({ gates, devices, dra }: DeviceHealthParts): DeviceHealth {
  if (!gates.enabled('ResourceHealthStatus')) return () => undefined;
  return (pod, container) =>
    dra.withClaims(devices.manager.health(podUid(pod.metadata.uid), container), pod, container);
}
