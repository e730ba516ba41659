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
import type { CallOptions, PartialMessage } from '../grpc/service-binding.ts';

export type { CallOptions, PartialMessage };

/*
 * The two CRI services as TypeScript sees them. The gRPC client implements them, and so does any fake runtime in this process.
 * Every method fails with KubeletError only. Lists over streams yield pages; the list is the pages joined.
 */

/** Sandboxes, containers and everything about the runtime itself. */
export interface RuntimeServiceApi {
  /** The runtime must answer with kubelet API version 0.1.0. */
  version(request: PartialMessage<VersionRequest>, options?: CallOptions): Promise<VersionResponse>;
  status(request: PartialMessage<StatusRequest>, options?: CallOptions): Promise<StatusResponse>;
  /** `Unimplemented` by older runtimes: then the configured cgroup driver counts. */
  runtimeConfig(request: PartialMessage<RuntimeConfigRequest>, options?: CallOptions): Promise<RuntimeConfigResponse>;
  updateRuntimeConfig(
    request: PartialMessage<UpdateRuntimeConfigRequest>,
    options?: CallOptions,
  ): Promise<UpdateRuntimeConfigResponse>;
  /**
   * Creates and starts the sandbox; its network is up when this returns. A timeout leaves the outcome unknown: look it
   * up.
   */
  runPodSandbox(request: PartialMessage<RunPodSandboxRequest>, options?: CallOptions): Promise<RunPodSandboxResponse>;
  /** Kills what runs in the sandbox and takes its network down. Repeating it is success. */
  stopPodSandbox(
    request: PartialMessage<StopPodSandboxRequest>,
    options?: CallOptions,
  ): Promise<StopPodSandboxResponse>;
  /** Removes a stopped sandbox with its containers. Removing what is gone is success. */
  removePodSandbox(
    request: PartialMessage<RemovePodSandboxRequest>,
    options?: CallOptions,
  ): Promise<RemovePodSandboxResponse>;
  podSandboxStatus(
    request: PartialMessage<PodSandboxStatusRequest>,
    options?: CallOptions,
  ): Promise<PodSandboxStatusResponse>;
  listPodSandbox(
    request: PartialMessage<ListPodSandboxRequest>,
    options?: CallOptions,
  ): Promise<ListPodSandboxResponse>;
  streamPodSandboxes(
    request: PartialMessage<StreamPodSandboxesRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamPodSandboxesResponse>;
  /** Best effort: `Unimplemented` is tolerated. */
  updatePodSandboxResources(
    request: PartialMessage<UpdatePodSandboxResourcesRequest>,
    options?: CallOptions,
  ): Promise<UpdatePodSandboxResourcesResponse>;
  /** Answers with a URL at the runtime's streaming server. */
  portForward(request: PartialMessage<PortForwardRequest>, options?: CallOptions): Promise<PortForwardResponse>;
  /** Fails with `AlreadyExists` or `Conflict` while the same (name, attempt) is known. */
  createContainer(
    request: PartialMessage<CreateContainerRequest>,
    options?: CallOptions,
  ): Promise<CreateContainerResponse>;
  startContainer(
    request: PartialMessage<StartContainerRequest>,
    options?: CallOptions,
  ): Promise<StartContainerResponse>;
  /** `timeout` is in seconds. Stopping what has stopped is success. */
  stopContainer(request: PartialMessage<StopContainerRequest>, options?: CallOptions): Promise<StopContainerResponse>;
  /** Removing what is gone is success. */
  removeContainer(
    request: PartialMessage<RemoveContainerRequest>,
    options?: CallOptions,
  ): Promise<RemoveContainerResponse>;
  containerStatus(
    request: PartialMessage<ContainerStatusRequest>,
    options?: CallOptions,
  ): Promise<ContainerStatusResponse>;
  listContainers(
    request: PartialMessage<ListContainersRequest>,
    options?: CallOptions,
  ): Promise<ListContainersResponse>;
  streamContainers(
    request: PartialMessage<StreamContainersRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamContainersResponse>;
  updateContainerResources(
    request: PartialMessage<UpdateContainerResourcesRequest>,
    options?: CallOptions,
  ): Promise<UpdateContainerResourcesResponse>;
  /** For log rotation: after the old file was renamed. */
  reopenContainerLog(
    request: PartialMessage<ReopenContainerLogRequest>,
    options?: CallOptions,
  ): Promise<ReopenContainerLogResponse>;
  checkpointContainer(
    request: PartialMessage<CheckpointContainerRequest>,
    options?: CallOptions,
  ): Promise<CheckpointContainerResponse>;
  /** Lasts until aborted. */
  getContainerEvents(
    request: PartialMessage<GetEventsRequest>,
    options?: CallOptions,
  ): AsyncIterable<ContainerEventResponse>;
  /**
   * Runs a command to its end; `timeout` in seconds, 0 means none. The exit code is in the answer, not in an error.
   * Output is cut at 16 MB by the runtime.
   */
  execSync(request: PartialMessage<ExecSyncRequest>, options?: CallOptions): Promise<ExecSyncResponse>;
  /** Answers with a URL at the runtime's streaming server. */
  exec(request: PartialMessage<ExecRequest>, options?: CallOptions): Promise<ExecResponse>;
  /** Answers with a URL at the runtime's streaming server. */
  attach(request: PartialMessage<AttachRequest>, options?: CallOptions): Promise<AttachResponse>;
  containerStats(
    request: PartialMessage<ContainerStatsRequest>,
    options?: CallOptions,
  ): Promise<ContainerStatsResponse>;
  listContainerStats(
    request: PartialMessage<ListContainerStatsRequest>,
    options?: CallOptions,
  ): Promise<ListContainerStatsResponse>;
  streamContainerStats(
    request: PartialMessage<StreamContainerStatsRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamContainerStatsResponse>;
  podSandboxStats(
    request: PartialMessage<PodSandboxStatsRequest>,
    options?: CallOptions,
  ): Promise<PodSandboxStatsResponse>;
  listPodSandboxStats(
    request: PartialMessage<ListPodSandboxStatsRequest>,
    options?: CallOptions,
  ): Promise<ListPodSandboxStatsResponse>;
  streamPodSandboxStats(
    request: PartialMessage<StreamPodSandboxStatsRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamPodSandboxStatsResponse>;
  listMetricDescriptors(
    request: PartialMessage<ListMetricDescriptorsRequest>,
    options?: CallOptions,
  ): Promise<ListMetricDescriptorsResponse>;
  listPodSandboxMetrics(
    request: PartialMessage<ListPodSandboxMetricsRequest>,
    options?: CallOptions,
  ): Promise<ListPodSandboxMetricsResponse>;
  streamPodSandboxMetrics(
    request: PartialMessage<StreamPodSandboxMetricsRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamPodSandboxMetricsResponse>;
}

/** Images and the filesystems that hold them. */
export interface ImageServiceApi {
  listImages(request: PartialMessage<ListImagesRequest>, options?: CallOptions): Promise<ListImagesResponse>;
  streamImages(
    request: PartialMessage<StreamImagesRequest>,
    options?: CallOptions,
  ): AsyncIterable<StreamImagesResponse>;
  /** `image` is undefined in the answer when the image is not present; that is no error. */
  imageStatus(request: PartialMessage<ImageStatusRequest>, options?: CallOptions): Promise<ImageStatusResponse>;
  /** No deadline of its own. Answers with the reference to use in CreateContainer. */
  pullImage(request: PartialMessage<PullImageRequest>, options?: CallOptions): Promise<PullImageResponse>;
  /** Removing what is gone is success. */
  removeImage(request: PartialMessage<RemoveImageRequest>, options?: CallOptions): Promise<RemoveImageResponse>;
  imageFsInfo(request: PartialMessage<ImageFsInfoRequest>, options?: CallOptions): Promise<ImageFsInfoResponse>;
}
