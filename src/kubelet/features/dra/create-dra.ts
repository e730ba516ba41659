import { KubeletError } from '../../../base/errors.ts';
import { folderPrefix } from '../../../base/folder-path.ts';
import type { Clock } from '../../../base/clock.ts';
import type { Logger } from '../../../base/log.ts';
import type { Random } from '../../../base/random.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { resourceClaims } from '../../../api/client/resource-types.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { ResourceStatus } from '../../../api/core/pod-status.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { DraCallRecord, DraDrivers } from '../../ports/dra-drivers.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { ResourceClaimUse } from '../../ports/pod-resources.ts';
import { computeClaimHealth } from './claim-health.ts';
import type { DraOperation } from './dra-manager.ts';
import { DraManager } from './dra-manager.ts';
import { DraDriverRegistry } from './driver-registry.ts';
import { HealthWatcher } from './health-watcher.ts';
import { SliceCleanup } from './slice-cleanup.ts';

export interface CreateDraParts {
  readonly rootDir: string;
  readonly nodeName: string;
  /** The client of DRA drivers; absent if the node has none. */
  readonly drivers: DraDrivers | undefined;
  /** The API client; undefined on a standalone node, where pods cannot have claims. */
  readonly client: Pick<ApiClient, 'get' | 'list' | 'delete'> | undefined;
  readonly files: HostFiles;
  /** The gate ResourceHealthStatus, with which drivers report the health of their devices. */
  readonly watchesHealth: boolean;
  /** The gate ResourceHealthStatusMessage. */
  readonly showsMessages: boolean;
  /** Called when the health of devices of this pod changed. */
  readonly onHealth: (podUid: string) => void;
  readonly onCall?: (driver: string, call: DraCallRecord) => void;
  readonly onOperation?: (operation: DraOperation) => void;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

export interface DraParts {
  readonly registry: DraDriverRegistry;
  readonly manager: DraManager;
  /**
   * Adds the health of the devices of a container's claims to that of its plugin devices. It applies to regular
   * containers; undefined if there are no devices.
   */
  withClaims(devices: ResourceStatus[] | undefined, pod: Pod, container: string): ResourceStatus[] | undefined;
  /** Unprepares the claims of removed pods. Never rejects. */
  releaseInactive(known: { has(uid: PodUid): boolean }): Promise<void>;
  /** Returns the claims of a container, for the Pod Resources API. */
  usedBy(pod: Pod, container: AnyContainer): readonly ResourceClaimUse[];
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** Creates dynamic resource allocation on this node (upstream: cm/dra). */
export function createDra(parts: CreateDraParts): DraParts {
  const { client, nodeName, files, clock, random, log } = parts;
  const stopped = new AbortController();
  const root = folderPrefix(parts.rootDir);
  const cleanup = new SliceCleanup({ client, nodeName, clock, random, log });
  const watcher = new HealthWatcher({
    clock,
    log,
    files,
    path: `${root}/dra_health_state`,
    onChange: (driver, keys) => manager.podsUsing(driver, keys).forEach(parts.onHealth),
  });
  const registry = new DraDriverRegistry({
    drivers: parts.drivers,
    ...(parts.onCall !== undefined && { onCall: parts.onCall }),
    onUsable: (driver, isUsable) => cleanup.driverUsable(driver, isUsable),
    onConnection: (driver, instance, isConnected) => {
      if (parts.watchesHealth) watcher.connection(driver, instance, isConnected);
    },
  });
  const manager = new DraManager({
    drivers: registry,
    fetchClaim: (namespace, name) =>
      client === undefined
        ? Promise.reject(new KubeletError('Unavailable', 'resource claims need an API server'))
        : client.get(resourceClaims, { namespace, name }),
    path: `${root}/dra_manager_state`,
    files,
    clock,
    ...(parts.onOperation !== undefined && { onOperation: parts.onOperation }),
    log,
  });
  return {
    registry,
    manager,
    withClaims: (devices, pod, name) => {
      const container = pod.spec.containers.find((each) => each.name === name);
      if (container === undefined || (container.resources?.claims ?? []).length === 0) return devices;
      const claims = computeClaimHealth(
        manager.usesOf(pod, container),
        ({ driver, poolName, deviceName }) => watcher.health(driver, poolName, deviceName),
        { withMessages: parts.showsMessages },
      );
      return claims === undefined ? devices : [...(devices ?? []), ...claims];
    },
    releaseInactive: (known) => manager.unprepareInactive((uid) => known.has(podUid(uid)), stopped.signal),
    usedBy: (pod, container) => claimUses(manager, pod, container),
    start: async () => {
      await manager.start();
      if (parts.watchesHealth) await watcher.start();
      cleanup.start();
    },
    stop: async () => {
      stopped.abort();
      await watcher.stop();
      await cleanup.stop();
      registry.close();
    },
  };
}

/** Returns each claim that the container uses, with all of its devices (upstream: GetDynamicResources). */
function claimUses(manager: DraManager, pod: Pod, container: AnyContainer): readonly ResourceClaimUse[] {
  return manager.claimsOf(pod, container).map(({ name, namespace, drivers }) => ({
    name,
    namespace,
    devices: [...drivers].flatMap(([driver, devices]) =>
      devices.map(({ cdiDeviceIds, poolName, deviceName, shareId }) => ({
        cdiIds: cdiDeviceIds,
        driver,
        pool: poolName,
        device: deviceName,
        shareId,
      })),
    ),
  }));
}

interface DeviceSource<Options extends { readonly cdiDevices: readonly string[] }> {
  needsDevices(pod: Pod, container: AnyContainer): boolean;
  runOptions(pod: Pod, container: AnyContainer, signal: AbortSignal): Promise<Options>;
}

/** Merges the devices of plugins with those of claims. */
export function withClaimedDevices<Options extends { readonly cdiDevices: readonly string[] }>(
  devices: DeviceSource<Options>,
  manager: Pick<DraManager, 'usesClaims' | 'cdiDevices'>,
): DeviceSource<Options> {
  return {
    needsDevices: (pod, container) => devices.needsDevices(pod, container) || manager.usesClaims(pod, container),
    runOptions: async (pod, container, signal) => {
      const options = await devices.runOptions(pod, container, signal);
      return { ...options, cdiDevices: [...new Set([...options.cdiDevices, ...manager.cdiDevices(pod, container)])] };
    },
  };
}
