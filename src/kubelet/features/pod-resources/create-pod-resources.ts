import { folderPrefix } from '../../../base/folder-path.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { CpuSet } from '../../model/cpu-set.ts';
import { sortedCpus } from '../../model/cpu-set.ts';
import type { PodUid } from '../../model/ids.ts';
import type { PluginDevice } from '../../ports/device-plugins.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { PodResourcesApi, PodResourcesServer, ResourceMemory } from '../../ports/pod-resources.ts';
import type { DeviceUse, ResourceUse } from './compute-pod-resources.ts';
import { computeOldPodResources, computePodResources } from './compute-pod-resources.ts';

export type PodResourcesCall = 'list' | 'get' | 'get_allocatable';

export interface CreatePodResourcesParts {
  readonly rootDir: string;
  /** The server; absent if the API is not served. */
  readonly server: PodResourcesServer | undefined;
  readonly files: Pick<HostFiles, 'makeDirectory' | 'lstat' | 'remove'>;
  readonly devices: DeviceUse & {
    /** Returns healthy devices by resource. */
    healthy(): ReadonlyMap<string, readonly PluginDevice[]>;
    /** Frees the devices of ended pods. */
    releaseInactive(): void;
  };
  readonly cpus: {
    exclusive(uid: PodUid, container: string): CpuSet | undefined;
    /** Returns the CPUs that can be allocated exclusively. */
    allocatable(): CpuSet;
  };
  readonly memory: NonNullable<ResourceUse['memory']> & { allocatable(): readonly ResourceMemory[] };
  readonly claims: NonNullable<ResourceUse['claims']>;
  readonly store: { pods(): readonly Pod[]; byName(namespace: string, name: string): Pod | undefined };
  /** Lists the pods that have not ended. */
  readonly directory: { live(): readonly Pod[] };
  /** The gate KubeletPodResourcesListUseActivePods, with which ended pods are not listed. */
  readonly listsActive: boolean;
  /** Counts a request. `call` is undefined for requests of v1alpha1, which upstream counts in total only. */
  readonly onRequest: (version: 'v1' | 'v1alpha1', call: PodResourcesCall | undefined) => void;
  /** Counts a request for a pod that does not exist. */
  readonly onNotFound: () => void;
  readonly log: Logger;
}

export interface PodResourcesService {
  /** Serves the API. Never rejects: if it fails, monitoring agents do not see devices. */
  start(): Promise<void>;
  stop(): void;
}

const FOLDER_MODE = 0o750;

/** Creates the API that lists the devices, CPUs and memory of containers (upstream: apis/podresources). */
export function createPodResources(parts: CreatePodResourcesParts): PodResourcesService {
  const { server, files, log } = parts;
  const folder = `${folderPrefix(parts.rootDir)}/pod-resources`;
  const path = `${folder}/kubelet.sock`;
  const api = createPodResourcesApi(parts);
  let running: { close(): void } | undefined;
  return {
    start: async () => {
      if (server === undefined) return;
      try {
        await files.makeDirectory(folder, FOLDER_MODE);
        if ((await files.lstat(path))?.type === 'socket') await files.remove(path);
        running = await server.serve(path, api);
      } catch (error) {
        log.error('the Pod Resources API cannot be served', { path, error: errorMessage(error) });
      }
    },
    stop: () => running?.close(),
  };
}

export function createPodResourcesApi(
  parts: Pick<
    CreatePodResourcesParts,
    'devices' | 'cpus' | 'memory' | 'claims' | 'store' | 'directory' | 'listsActive' | 'onRequest' | 'onNotFound'
  >,
): PodResourcesApi {
  const { devices, cpus, memory, claims, store, directory, onRequest } = parts;
  const exclusive = (uid: PodUid, container: string): readonly number[] =>
    sortedCpus(cpus.exclusive(uid, container) ?? []);
  const use: ResourceUse = { devices, cpus: { exclusive }, memory, claims };
  return {
    list: () => {
      onRequest('v1', 'list');
      devices.releaseInactive();
      return (parts.listsActive ? directory.live() : store.pods()).map((pod) => computePodResources(pod, use));
    },
    get: (namespace, name) => {
      onRequest('v1', 'get');
      const pod = store.byName(namespace, name);
      if (pod !== undefined) return computePodResources(pod, use);
      parts.onNotFound();
      // As upstream, the code of this error is Unknown.
      throw new KubeletError('Internal', `pod ${name} in namespace ${namespace} not found`);
    },
    allocatable: () => {
      onRequest('v1', 'get_allocatable');
      return {
        devices: [...devices.healthy()].flatMap(([resource, healthy]) =>
          healthy.map(({ id, numaNodes }) => ({ resource, id, numaNodes })),
        ),
        cpus: sortedCpus(cpus.allocatable()),
        memory: memory.allocatable(),
      };
    },
    listOld: () => {
      onRequest('v1alpha1', undefined);
      devices.releaseInactive();
      return store.pods().map((pod) => computeOldPodResources(pod, use));
    },
  };
}
