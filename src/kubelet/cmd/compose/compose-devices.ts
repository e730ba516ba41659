import type { AdmissionManager } from '../../features/admission/admission-manager.ts';
import type { DeviceParts } from '../../features/device-manager/create-device-manager.ts';
import { createDeviceManager } from '../../features/device-manager/create-device-manager.ts';
import { podsWithDevices } from '../../loop/pods-with-devices.ts';
import { noteDeviceAllocation, noteDeviceRegistration } from '../../features/metrics/devices.ts';
import type { Given } from './kubelet-parts.ts';

/** Admission allocates devices, and the device manager needs to know which pods it admitted. */
export function composeDevices(
  parts: Given<'directory' | 'node' | 'sourcesReady'>,
  admission: () => Pick<AdmissionManager, 'state'>,
): DeviceParts {
  const { settings, platform, changes, directory, node, sourcesReady, observation } = parts;
  const { metrics } = observation;
  return createDeviceManager({
    rootDir: settings.rootDir,
    plugins: platform.devicePlugins,
    files: platform.files,
    activePods: podsWithDevices({ directory, sourcesReady, admission }),
    onCapacity: () => node.statusChanges.notify(),
    onHealth: (uid) => changes.notify(uid),
    onRegistered: (resource) => noteDeviceRegistration(metrics, resource),
    onAllocated: (resource, durationMs) => noteDeviceAllocation(metrics, resource, durationMs),
    clock: platform.clock,
    log: platform.log,
  });
}
