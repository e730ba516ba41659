import { folderPrefix } from '../../../base/folder-path.ts';
import type { Clock, Timer } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import type { DevicePluginRegistration, DevicePlugins } from '../../ports/device-plugins.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { checkRegistration, checkResourceName, checkVersions } from './check-registration.ts';
import { DeviceCheckpoint } from './device-checkpoint.ts';
import { DeviceManager } from './device-manager.ts';
import { AffinityStore } from './device-hint-provider.ts';
import { PluginEndpoints } from './plugin-endpoints.ts';

export interface CreateDeviceManagerParts {
  readonly rootDir: string;
  /** The client of device plugins; absent if device plugins are not supported. */
  readonly plugins: DevicePlugins | undefined;
  readonly files: HostFiles;
  /** The ids of the machine's NUMA nodes, sorted. */
  readonly nodeIds: readonly number[];
  readonly holders: () => ReadonlySet<PodUid> | undefined;
  readonly onCapacity: () => void;
  readonly onHealth: (uid: PodUid) => void;
  readonly onRegistered: (resource: string) => void;
  readonly onAllocated: (resource: string, durationMs: number) => void;
  readonly clock: Clock;
  readonly log: Logger;
}

/** A plugin that registers through the plugin watcher. */
interface WatchedPlugin {
  readonly name: string;
  readonly endpoint: string;
  readonly versions: readonly string[];
}

export interface DeviceParts {
  readonly manager: DeviceManager;
  /** Handles plugins of type DevicePlugin for the plugin watcher. */
  readonly pluginHandler: {
    validate(plugin: WatchedPlugin): void;
    register(plugin: WatchedPlugin): Promise<void>;
    deregister(plugin: WatchedPlugin): void;
  };
  /**
   * Reads the state of an earlier run and serves registrations. Never rejects: if it fails, plugins cannot register.
   */
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Returns why plugins cannot register, or undefined if they can. */
  problem(): string | undefined;
}

const FOLDER_MODE = 0o750;
const SERVE_RETRY_MS = 5000;
const CHECKPOINT = 'kubelet_internal_checkpoint';

/** Creates the device manager as this node is configured (upstream: cm/devicemanager). */
export function createDeviceManager(parts: CreateDeviceManagerParts): DeviceParts {
  const { plugins, files, clock, log } = parts;
  const folder = `${folderPrefix(parts.rootDir)}/device-plugins`;
  const path = `${folder}/${CHECKPOINT}`;
  const codec = plugins ?? noPlugins;
  const manager = new DeviceManager({
    ...parts,
    affinities: new AffinityStore(),
    endpoints: (handlers) => new PluginEndpoints({ ...handlers, plugins: plugins ?? noPlugins, clock, log }),
    checkpoint: (snapshot) => new DeviceCheckpoint({ path, files, codec, snapshot, clock, log }),
  });
  const register = async (registration: DevicePluginRegistration): Promise<void> => {
    const socketPath = checkRegistration(registration, folder);
    parts.onRegistered(registration.resource);
    log.info('Got registration request from device plugin with resource', { resource: registration.resource });
    await manager.endpoints.register(registration.resource, socketPath);
  };
  let server: { close(): void } | undefined;
  let problem: string | undefined;
  let retry: Timer | undefined;
  const serve = async (serving: DevicePlugins): Promise<void> => {
    try {
      await files.makeDirectory(folder, FOLDER_MODE);
      await removeSockets(files, folder);
      server = await serving.serveRegistration(`${folder}/kubelet.sock`, register);
      problem = undefined;
    } catch (error) {
      if (problem === undefined)
        log.error('device plugins cannot register yet', { folder, error: errorMessage(error) });
      problem = `device registration error: device plugin registration gRPC server failed and no device plugins can register: ${errorMessage(error)}`;
      retry = clock.setTimer(SERVE_RETRY_MS, () => void serve(serving));
    }
  };
  return {
    manager,
    pluginHandler: {
      validate: ({ name, versions }) => {
        checkVersions(versions);
        checkResourceName(name);
      },
      register: ({ name, endpoint }) => manager.endpoints.register(name, endpoint),
      deregister: ({ name, endpoint }) => manager.endpoints.deregister(name, endpoint),
    },
    start: async () => {
      if (plugins === undefined) return;
      const saved = await DeviceCheckpoint.load({ path, files, codec, log });
      if (saved !== undefined) manager.restore(saved);
      await serve(plugins);
    },
    stop: async () => {
      retry?.cancel();
      server?.close();
      await manager.stop();
    },
    problem: () => problem,
  };
}

/**
 * Removes the sockets of an earlier run, including those of plugins, which then register again (upstream:
 * CleanupPluginDirectory).
 */
async function removeSockets(files: HostFiles, folder: string): Promise<void> {
  for (const name of await files.list(folder)) {
    const path = `${folder}/${name}`;
    if ((await files.lstat(path))?.type === 'socket') await files.remove(path);
  }
}

const unavailable = (): never => {
  throw new Error('this node has no device plugins');
};

const noPlugins: DevicePlugins = {
  connect: () => Promise.reject(new Error('this node has no device plugins')),
  serveRegistration: () => Promise.reject(new Error('this node has no device plugins')),
  encodeAllocation: unavailable,
  decodeAllocation: unavailable,
};
