import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { CallOptions, ImageServiceApi, RuntimeServiceApi } from '../../cri/cri-api.ts';
import {
  AttachRequest,
  CgroupDriver,
  CreateContainerRequest,
  ExecRequest,
  ExecSyncRequest,
  ImageStatusRequest,
  ListContainersRequest,
  ListImagesRequest,
  ListPodSandboxRequest,
  PodSandboxStatusRequest,
  PortForwardRequest,
  PullImageRequest,
  RunPodSandboxRequest,
  StatusResponse,
  UpdateContainerResourcesRequest,
} from '../../cri/generated/cri-v1.ts';
import type { CniNetwork } from '../cni/cni-network.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import { containerEvents } from './container-events.ts';
import type { ContainerStatsReader } from './container-stats.ts';
import { statsCalls } from './stats-calls.ts';
import type { PodStatsReader } from './pod-stats.ts';
import type { Containers } from './containers.ts';
import { execSync } from './exec-sync.ts';
import type { Images } from './images.ts';
import { needId } from './need-id.ts';
import type { Sandboxes } from './sandboxes.ts';
import type { ShimHost } from './shim-ports.ts';

/** The address for exec, attach and port-forward; each URL is valid for one connection. */
export interface StreamTickets {
  exec(request: ExecRequest): string;
  attach(request: AttachRequest): string;
  portForward(request: PortForwardRequest): string;
}

export interface DockershimParts {
  readonly engine: DockerEngine;
  readonly sandboxes: Sandboxes;
  readonly containers: Containers;
  readonly images: Images;
  readonly stats: ContainerStatsReader;
  readonly podStats: PodStatsReader;
  readonly network: CniNetwork;
  readonly tickets: StreamTickets;
  readonly host: ShimHost;
  readonly clock: Clock;
}

/** The version of the CRI's kubelet API. All runtimes return this value. */
const KUBELET_API_VERSION = '0.1.0';

type Served<Api, Missing extends keyof Api> = Omit<Api, Missing>;

/** Docker has no counterpart for these calls. They return `Unimplemented`, as older runtimes do. */
type MissingCalls =
  | 'streamPodSandboxes'
  | 'streamContainers'
  | 'streamContainerStats'
  | 'streamPodSandboxStats'
  | 'streamPodSandboxMetrics'
  | 'updatePodSandboxResources'
  | 'checkpointContainer';

export type DockershimRuntime = Served<RuntimeServiceApi, MissingCalls>;
export type DockershimImages = Served<ImageServiceApi, 'streamImages'>;

/** The CRI over Docker Engine. */
export function createDockershim(parts: DockershimParts): {
  readonly runtime: DockershimRuntime;
  readonly images: DockershimImages;
} {
  return {
    runtime: {
      ...engineCalls(parts),
      ...sandboxCalls(parts),
      ...containerCalls(parts),
      ...statsCalls(parts),
      ...commandCalls(parts),
    },
    images: imageCalls(parts),
  };
}

function engineCalls({
  engine,
  network,
  containers,
  sandboxes,
  clock,
}: DockershimParts): Pick<
  DockershimRuntime,
  'version' | 'status' | 'runtimeConfig' | 'updateRuntimeConfig' | 'getContainerEvents'
> {
  return {
    version: async (_request, { signal } = {}) => {
      const { Version: runtimeVersion = '', ApiVersion = '' } = await engine.version({ signal });
      return {
        version: KUBELET_API_VERSION,
        runtimeName: 'docker',
        runtimeVersion,
        runtimeApiVersion: `${ApiVersion}.0`,
      };
    },
    status: async ({ verbose }, { signal } = {}) => {
      const [info, chosen] = await Promise.all([engine.info({ signal }), network.choose()]);
      const handlers = ['', ...Object.keys(info.Runtimes ?? {})];
      return StatusResponse.fromPartial({
        status: {
          conditions: [
            { type: 'RuntimeReady', status: true },
            {
              type: 'NetworkReady',
              status: chosen.kind === 'found',
              ...(chosen.kind === 'none' && {
                reason: 'NetworkPluginNotReady',
                message: `docker: network plugin is not ready: cni config uninitialized: ${chosen.why}`,
              }),
            },
          ],
        },
        runtimeHandlers: handlers.map((name) => ({ name, features: {} })),
        info: verbose === true ? { config: JSON.stringify({ driver: info.Driver, root: info.DockerRootDir }) } : {},
      });
    },
    runtimeConfig: async (_request, { signal } = {}) => {
      const { CgroupDriver: driver } = await engine.info({ signal });
      return { linux: { cgroupDriver: driver === 'systemd' ? CgroupDriver.SYSTEMD : CgroupDriver.CGROUPFS } };
    },
    // The network plugin handles the pod CIDR.
    updateRuntimeConfig: async () => ({}),
    getContainerEvents: (_request, { signal } = {}) =>
      containerEvents({ engine, containers, sandboxes, clock }, signal ?? new AbortController().signal),
  };
}

function sandboxCalls({
  sandboxes,
}: DockershimParts): Pick<
  DockershimRuntime,
  'runPodSandbox' | 'stopPodSandbox' | 'removePodSandbox' | 'podSandboxStatus' | 'listPodSandbox'
> {
  return {
    runPodSandbox: async (request, { signal } = {}) => ({
      podSandboxId: await sandboxes.run(RunPodSandboxRequest.fromPartial(request), signal),
    }),
    stopPodSandbox: async ({ podSandboxId = '' }, { signal } = {}) => {
      await sandboxes.stop(needId(podSandboxId), signal);
      return {};
    },
    removePodSandbox: async ({ podSandboxId = '' }, { signal } = {}) => {
      await sandboxes.remove(needId(podSandboxId), signal);
      return {};
    },
    podSandboxStatus: async (request, { signal } = {}) => {
      const { podSandboxId, verbose } = PodSandboxStatusRequest.fromPartial(request);
      const id = needId(podSandboxId);
      return (verbose ? undefined : sandboxes.takeStarted(id)) ?? (await sandboxes.status(id, verbose, signal));
    },
    listPodSandbox: async (request, { signal } = {}) => {
      const { filter } = ListPodSandboxRequest.fromPartial(request);
      return { items: [...(await sandboxes.list(filter, signal))] };
    },
  };
}

function containerCalls({
  containers,
}: DockershimParts): Pick<
  DockershimRuntime,
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'containerStatus'
  | 'listContainers'
  | 'updateContainerResources'
  | 'reopenContainerLog'
> {
  return {
    createContainer: async (request, { signal } = {}) => ({
      containerId: await containers.create(CreateContainerRequest.fromPartial(request), signal),
    }),
    startContainer: async ({ containerId = '' }, { signal } = {}) => {
      await containers.start(needId(containerId), signal);
      return {};
    },
    stopContainer: async ({ containerId = '', timeout = 0 }, { signal } = {}) => {
      await containers.stop(needId(containerId), Math.max(0, Number(timeout)), signal);
      return {};
    },
    removeContainer: async ({ containerId = '' }, { signal } = {}) => {
      await containers.remove(needId(containerId), signal);
      return {};
    },
    containerStatus: ({ containerId = '', verbose = false }, { signal } = {}) =>
      containers.status(needId(containerId), verbose, signal),
    listContainers: async (request, { signal } = {}) => {
      const { filter } = ListContainersRequest.fromPartial(request);
      return { containers: [...(await containers.list(filter, signal))] };
    },
    updateContainerResources: async (request, { signal } = {}) => {
      const { containerId, linux } = UpdateContainerResourcesRequest.fromPartial(request);
      await containers.update(needId(containerId), linux, signal);
      return {};
    },
    reopenContainerLog: async ({ containerId = '' }, { signal } = {}) => {
      await containers.reopenLog(needId(containerId), signal);
      return {};
    },
  };
}

function commandCalls({
  engine,
  host,
  clock,
  tickets,
}: DockershimParts): Pick<DockershimRuntime, 'execSync' | 'exec' | 'attach' | 'portForward'> {
  const needRunning = async (id: string, { signal }: CallOptions): Promise<string> => {
    const { Id, State } = await engine.inspectContainer(needId(id), { signal });
    if (State?.Running !== true) throw new KubeletError('Invalid', `container ${id} is not running`);
    return Id;
  };
  return {
    execSync: (request, { signal } = {}) => {
      const { containerId, cmd, timeout } = ExecSyncRequest.fromPartial(request);
      return execSync(
        { engine, host, clock },
        { containerId: needId(containerId), cmd, timeoutS: Number(timeout) },
        signal,
      );
    },
    exec: async (request, options = {}) => {
      const asked = ExecRequest.fromPartial(request);
      return { url: tickets.exec({ ...asked, containerId: await needRunning(asked.containerId, options) }) };
    },
    attach: async (request, options = {}) => {
      const asked = AttachRequest.fromPartial(request);
      return { url: tickets.attach({ ...asked, containerId: await needRunning(asked.containerId, options) }) };
    },
    portForward: async (request, options = {}) => {
      const asked = PortForwardRequest.fromPartial(request);
      return { url: tickets.portForward({ ...asked, podSandboxId: await needRunning(asked.podSandboxId, options) }) };
    },
  };
}

function imageCalls({ images }: DockershimParts): DockershimImages {
  return {
    listImages: async (request, { signal } = {}) => {
      const { filter } = ListImagesRequest.fromPartial(request);
      return { images: [...(await images.list(filter?.image?.image ?? '', signal))] };
    },
    imageStatus: (request, { signal } = {}) => {
      const { image, verbose } = ImageStatusRequest.fromPartial(request);
      return images.status(image?.image ?? '', verbose, signal);
    },
    pullImage: async (request, { signal } = {}) => {
      const { image, auth } = PullImageRequest.fromPartial(request);
      return { imageRef: await images.pull(image?.image ?? '', auth, signal) };
    },
    removeImage: async ({ image }, { signal } = {}) => {
      await images.remove(image?.image ?? '', signal);
      return {};
    },
    imageFsInfo: async (_request, { signal } = {}) => {
      const filesystem = await images.filesystem(signal);
      return { imageFilesystems: [filesystem], containerFilesystems: [filesystem] };
    },
  };
}
