import type {
  AttachRequest,
  AttachResponse,
  CheckpointContainerRequest,
  CheckpointContainerResponse,
  ContainerEventResponse,
  ContainerStatsRequest,
  ContainerStatsResponse,
  ContainerStatusRequest,
  ContainerStatusResponse,
  CreateContainerRequest,
  CreateContainerResponse,
  ExecRequest,
  ExecResponse,
  ExecSyncRequest,
  ExecSyncResponse,
  GetEventsRequest,
  ImageFsInfoRequest,
  ImageFsInfoResponse,
  ImageStatusRequest,
  ImageStatusResponse,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  ListContainersRequest,
  ListContainersResponse,
  ListImagesRequest,
  ListImagesResponse,
  ListMetricDescriptorsRequest,
  ListMetricDescriptorsResponse,
  ListPodSandboxMetricsRequest,
  ListPodSandboxMetricsResponse,
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  PodSandboxStatsRequest,
  PodSandboxStatsResponse,
  PodSandboxStatusRequest,
  PodSandboxStatusResponse,
  PortForwardRequest,
  PortForwardResponse,
  PullImageRequest,
  PullImageResponse,
  RemoveContainerRequest,
  RemoveContainerResponse,
  RemoveImageRequest,
  RemoveImageResponse,
  RemovePodSandboxRequest,
  RemovePodSandboxResponse,
  ReopenContainerLogRequest,
  ReopenContainerLogResponse,
  RunPodSandboxRequest,
  RunPodSandboxResponse,
  RuntimeConfigRequest,
  RuntimeConfigResponse,
  StartContainerRequest,
  StartContainerResponse,
  StatusRequest,
  StatusResponse,
  StopContainerRequest,
  StopContainerResponse,
  StopPodSandboxRequest,
  StopPodSandboxResponse,
  StreamContainerStatsRequest,
  StreamContainerStatsResponse,
  StreamContainersRequest,
  StreamContainersResponse,
  StreamImagesRequest,
  StreamImagesResponse,
  StreamPodSandboxMetricsRequest,
  StreamPodSandboxMetricsResponse,
  StreamPodSandboxStatsRequest,
  StreamPodSandboxStatsResponse,
  StreamPodSandboxesRequest,
  StreamPodSandboxesResponse,
  UpdateContainerResourcesRequest,
  UpdateContainerResourcesResponse,
  UpdatePodSandboxResourcesRequest,
  UpdatePodSandboxResourcesResponse,
  UpdateRuntimeConfigRequest,
  UpdateRuntimeConfigResponse,
  VersionRequest,
  VersionResponse,
} from './generated/cri-v1.ts';
import type { DeepPartial } from '../grpc/message-fns.ts';
import type { CallOptions } from '../grpc/service-binding.ts';

export type { CallOptions };

/*
 * The two CRI services as TypeScript interfaces. The gRPC client implements them, and so does any fake runtime. Every
 * method fails only with KubeletError. Streamed lists yield pages, which together are the list.
 */

/** Sandboxes, containers and the runtime itself. */
export interface RuntimeServiceApi {
  /** The runtime must return version 0.1.0 of the kubelet API. */
  version(request: DeepPartial<VersionRequest>, options?: CallOptions): Promise<VersionResponse>;
  status(request: DeepPartial<StatusRequest>, options?: CallOptions): Promise<StatusResponse>;
  /** Older runtimes return `Unimplemented`: the configured cgroup driver is used then. */
  runtimeConfig(request: DeepPartial<RuntimeConfigRequest>, options?: CallOptions): Promise<RuntimeConfigResponse>;
  updateRuntimeConfig(
    request: DeepPartial<UpdateRuntimeConfigRequest>,
    options?: CallOptions,
  ): Promise<UpdateRuntimeConfigResponse>;
  /**
   * Creates and starts the sandbox; its network is set up when this returns. After a timeout the outcome is unknown:
   * the caller must list the sandboxes.
   */
  runPodSandbox(request: DeepPartial<RunPodSandboxRequest>, options?: CallOptions): Promise<RunPodSandboxResponse>;
  /** Kills all containers of the sandbox and takes its network down. Stopping it again is success. */
  stopPodSandbox(request: DeepPartial<StopPodSandboxRequest>, options?: CallOptions): Promise<StopPodSandboxResponse>;
  /** Removes a stopped sandbox with its containers. Removing a missing sandbox is success. */
  removePodSandbox(
    request: DeepPartial<RemovePodSandboxRequest>,
    options?: CallOptions,
  ): Promise<RemovePodSandboxResponse>;
  podSandboxStatus(
    request: DeepPartial<PodSandboxStatusRequest>,
    options?: CallOptions,
  ): Promise<PodSandboxStatusResponse>;
  listPodSandbox(request: DeepPartial<ListPodSandboxRequest>, options?: CallOptions): Promise<ListPodSandboxResponse>;
  streamPodSandboxes(
    request: DeepPartial<StreamPodSandboxesRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamPodSandboxesResponse>;
  /** Best effort: callers tolerate `Unimplemented`. */
  updatePodSandboxResources(
    request: DeepPartial<UpdatePodSandboxResourcesRequest>,
    options?: CallOptions,
  ): Promise<UpdatePodSandboxResourcesResponse>;
  /** Returns a URL at the runtime's streaming server. */
  portForward(request: DeepPartial<PortForwardRequest>, options?: CallOptions): Promise<PortForwardResponse>;
  /** Fails with `AlreadyExists` or `Conflict` while the runtime has a container with the same name and attempt. */
  createContainer(
    request: DeepPartial<CreateContainerRequest>,
    options?: CallOptions,
  ): Promise<CreateContainerResponse>;
  startContainer(request: DeepPartial<StartContainerRequest>, options?: CallOptions): Promise<StartContainerResponse>;
  /** `timeout` is in seconds. Stopping a stopped container is success. */
  stopContainer(request: DeepPartial<StopContainerRequest>, options?: CallOptions): Promise<StopContainerResponse>;
  /** Removing a missing container is success. */
  removeContainer(
    request: DeepPartial<RemoveContainerRequest>,
    options?: CallOptions,
  ): Promise<RemoveContainerResponse>;
  containerStatus(
    request: DeepPartial<ContainerStatusRequest>,
    options?: CallOptions,
  ): Promise<ContainerStatusResponse>;
  listContainers(request: DeepPartial<ListContainersRequest>, options?: CallOptions): Promise<ListContainersResponse>;
  streamContainers(
    request: DeepPartial<StreamContainersRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamContainersResponse>;
  updateContainerResources(
    request: DeepPartial<UpdateContainerResourcesRequest>,
    options?: CallOptions,
  ): Promise<UpdateContainerResourcesResponse>;
  /** For log rotation: called after the old file was renamed. */
  reopenContainerLog(
    request: DeepPartial<ReopenContainerLogRequest>,
    options?: CallOptions,
  ): Promise<ReopenContainerLogResponse>;
  checkpointContainer(
    request: DeepPartial<CheckpointContainerRequest>,
    options?: CallOptions,
  ): Promise<CheckpointContainerResponse>;
  /** Runs until aborted. */
  getContainerEvents(
    request: DeepPartial<GetEventsRequest>,
    options?: CallOptions,
  ): AsyncIterable<ContainerEventResponse>;
  /**
   * Runs a command and waits for its end; `timeout` is in seconds, 0 means none. The exit code is in the response; a
   * code other than 0 is not an error. The runtime truncates output at 16 MB.
   */
  execSync(request: DeepPartial<ExecSyncRequest>, options?: CallOptions): Promise<ExecSyncResponse>;
  /** Returns a URL at the runtime's streaming server. */
  exec(request: DeepPartial<ExecRequest>, options?: CallOptions): Promise<ExecResponse>;
  /** Returns a URL at the runtime's streaming server. */
  attach(request: DeepPartial<AttachRequest>, options?: CallOptions): Promise<AttachResponse>;
  containerStats(request: DeepPartial<ContainerStatsRequest>, options?: CallOptions): Promise<ContainerStatsResponse>;
  listContainerStats(
    request: DeepPartial<ListContainerStatsRequest>,
    options?: CallOptions,
  ): Promise<ListContainerStatsResponse>;
  streamContainerStats(
    request: DeepPartial<StreamContainerStatsRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamContainerStatsResponse>;
  podSandboxStats(
    request: DeepPartial<PodSandboxStatsRequest>,
    options?: CallOptions,
  ): Promise<PodSandboxStatsResponse>;
  listPodSandboxStats(
    request: DeepPartial<ListPodSandboxStatsRequest>,
    options?: CallOptions,
  ): Promise<ListPodSandboxStatsResponse>;
  streamPodSandboxStats(
    request: DeepPartial<StreamPodSandboxStatsRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamPodSandboxStatsResponse>;
  listMetricDescriptors(
    request: DeepPartial<ListMetricDescriptorsRequest>,
    options?: CallOptions,
  ): Promise<ListMetricDescriptorsResponse>;
  listPodSandboxMetrics(
    request: DeepPartial<ListPodSandboxMetricsRequest>,
    options?: CallOptions,
  ): Promise<ListPodSandboxMetricsResponse>;
  streamPodSandboxMetrics(
    request: DeepPartial<StreamPodSandboxMetricsRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamPodSandboxMetricsResponse>;
}

/** Images and the file systems that contain them. */
export interface ImageServiceApi {
  listImages(request: DeepPartial<ListImagesRequest>, options?: CallOptions): Promise<ListImagesResponse>;
  streamImages(request: DeepPartial<StreamImagesRequest>, options?: CallOptions): AsyncIterable<StreamImagesResponse>;
  /** For a missing image, `image` in the response is undefined; that is not an error. */
  imageStatus(request: DeepPartial<ImageStatusRequest>, options?: CallOptions): Promise<ImageStatusResponse>;
  /** Has no default deadline. Returns the reference to use in CreateContainer. */
  pullImage(request: DeepPartial<PullImageRequest>, options?: CallOptions): Promise<PullImageResponse>;
  /** Removing a missing image is success. */
  removeImage(request: DeepPartial<RemoveImageRequest>, options?: CallOptions): Promise<RemoveImageResponse>;
  imageFsInfo(request: DeepPartial<ImageFsInfoRequest>, options?: CallOptions): Promise<ImageFsInfoResponse>;
}
