import { KubeletError } from '../../../base/errors.ts';
import { folderPrefix } from '../../../base/folder-path.ts';
import type { Logger } from '../../../base/log.ts';
import type { ApiClient } from '../../../api/client/api-client.ts';
import { resourceClaims } from '../../../api/client/resource-types.ts';
import type { AnyContainer } from '../../../api/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { DraDrivers } from '../../ports/dra-drivers.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import { DraManager } from './dra-manager.ts';
import { DraDriverRegistry } from './driver-registry.ts';

export interface CreateDraParts {
  readonly rootDir: string;
  /** Absent: the node has no DRA drivers. */
  readonly drivers: DraDrivers | undefined;
  /** Undefined on a standalone node, where pods can have no claims. */
  readonly client: Pick<ApiClient, 'get'> | undefined;
  readonly files: HostFiles;
  readonly log: Logger;
}

export interface DraParts {
  readonly registry: DraDriverRegistry;
  readonly manager: DraManager;
}

/** Dynamic resource allocation on this node (upstream: cm/dra). */
export function createDra({ rootDir, drivers, client, files, log }: CreateDraParts): DraParts {
  const registry = new DraDriverRegistry(drivers);
  const manager = new DraManager({
    drivers: registry,
    fetchClaim: (namespace, name) =>
      client === undefined
        ? Promise.reject(new KubeletError('Unavailable', 'resource claims need an API server'))
        : client.get(resourceClaims, { namespace, name }),
    path: `${folderPrefix(rootDir)}/dra_manager_state`,
    files,
    log,
  });
  return { registry, manager };
}

interface DeviceSource<Options extends { readonly cdiDevices: readonly string[] }> {
  needsDevices(pod: Pod, container: AnyContainer): boolean;
  runOptions(pod: Pod, container: AnyContainer, signal: AbortSignal): Promise<Options>;
}

/** The devices of plugins together with those of claims. */
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
