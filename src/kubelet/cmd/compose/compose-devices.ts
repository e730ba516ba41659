import type { AdmissionManager } from '../../features/admission/admission-manager.ts';
import type { DeviceParts } from '../../features/device-manager/create-device-manager.ts';
import { createDeviceManager } from '../../features/device-manager/create-device-manager.ts';
import { flatTopology } from '../../model/machine-topology.ts';
import { deviceHolders } from '../../loop/device-holders.ts';
import { podUid } from '../../model/ids.ts';
import {
  noteDeviceAllocation,
  noteDeviceRegistration,
  noteDraCall,
  noteDraOperation,
} from '../../features/metrics/devices.ts';
import type { PodResourcesService } from '../../features/pod-resources/create-pod-resources.ts';
import { createPodResources } from '../../features/pod-resources/create-pod-resources.ts';
import type { PodsApiService } from '../../features/pods-api/create-pods-api.ts';
import { createPodsApi } from '../../features/pods-api/create-pods-api.ts';
import { PublishedPods } from '../../loop/published-pods.ts';
import { notePodResourcesError, notePodResourcesRequest, notePodWatchDropped } from '../../features/metrics/devices.ts';
import type { DraParts } from '../../features/dra/create-dra.ts';
import { createDra } from '../../features/dra/create-dra.ts';
import type { FeatureParts, Given, KubeletParts } from './kubelet-parts.ts';

/** Creates the device manager. Admission allocates devices, and the device manager needs the admitted pods. */
export function composeDevices(
  parts: Given<'directory' | 'node' | 'sourcesReady' | 'cache'>,
  admission: () => Pick<AdmissionManager, 'state'>,
): DeviceParts {
  const { settings, platform, changes, directory, node, sourcesReady, observation } = parts;
  const { metrics } = observation;
  return createDeviceManager({
    rootDir: settings.rootDir,
    plugins: platform.devicePlugins,
    files: platform.files,
    nodeIds: (platform.topology?.() ?? flatTopology(platform.machine)).nodes.map(({ id }) => id),
    holders: deviceHolders({ directory, sourcesReady, admission, runtime: parts.cache }),
    onCapacity: () => node.statusChanges.notify(),
    onHealth: (uid) => changes.notify(uid),
    onRegistered: (resource) => noteDeviceRegistration(metrics, resource),
    onAllocated: (resource, durationMs) => noteDeviceAllocation(metrics, resource, durationMs),
    clock: platform.clock,
    log: platform.log,
  });
}

export function composeDra({ settings, platform, changes, observation }: Given<never>): DraParts {
  const { metrics } = observation;
  const { gates } = settings.config;
  return createDra({
    rootDir: settings.rootDir,
    nodeName: platform.machine.nodeName,
    drivers: platform.draDrivers,
    client: platform.cluster?.objects,
    files: platform.files,
    watchesHealth: gates.enabled('ResourceHealthStatus'),
    showsMessages: gates.enabled('ResourceHealthStatusMessage'),
    onHealth: (uid) => changes.notify(podUid(uid)),
    onCall: (driver, call) => noteDraCall(metrics, driver, call),
    onOperation: (operation) => noteDraOperation(metrics, operation),
    clock: platform.clock,
    random: platform.random,
    log: platform.log,
  });
}

export function composePodResources(
  { settings, platform, directory, store, observation }: Given<'directory'>,
  { devices, dra, cpuManager, memoryManager }: Pick<FeatureParts, 'devices' | 'dra' | 'cpuManager' | 'memoryManager'>,
): PodResourcesService {
  const { metrics } = observation;
  return createPodResources({
    rootDir: settings.rootDir,
    server: platform.podResources,
    files: platform.files,
    devices: devices.manager,
    cpus: cpuManager,
    memory: memoryManager,
    claims: dra,
    store,
    directory,
    listsActive: settings.config.gates.enabled('KubeletPodResourcesListUseActivePods'),
    onRequest: (version, call) => notePodResourcesRequest(metrics, version, call),
    onNotFound: () => notePodResourcesError(metrics, 'v1'),
    log: platform.log,
  });
}

export function composePodsApi(parts: KubeletParts): PodsApiService {
  const { settings, platform, records, observation } = parts;
  return createPodsApi({
    rootDir: settings.rootDir,
    isEnabled: settings.config.gates.enabled('PodsAPI'),
    server: platform.podsApi,
    files: platform.files,
    source: new PublishedPods({
      ...parts,
      statuses: records.statuses,
      standalone: platform.cluster === undefined,
      nowMs: () => platform.clock.nowMs(),
    }),
    onDropped: () => notePodWatchDropped(observation.metrics),
    log: platform.log,
  });
}
