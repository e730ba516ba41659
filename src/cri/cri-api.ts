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
 * The two CRI services as TypeScript sees them. The gRPC client implements them, and so does any fake runtime in this process.
 * Every method fails with KubeletError only. Lists over streams yield pages; the list is the pages joined.
 */

/** Sandboxes, containers and everything about the runtime itself. */
export interface RuntimeServiceApi {
  /** The runtime must answer with kubelet API version 0.1.0. */
  version(request: DeepPartial<VersionRequest>, options?: CallOptions): Promise<VersionResponse>;
  status(request: DeepPartial<StatusRequest>, options?: CallOptions): Promise<StatusResponse>;
  /** `Unimplemented` by older runtimes: then the configured cgroup driver counts. */
  runtimeConfig(request: DeepPartial<RuntimeConfigRequest>, options?: CallOptions): Promise<RuntimeConfigResponse>;
  updateRuntimeConfig(
    request: DeepPartial<UpdateRuntimeConfigRequest>,
    options?: CallOptions,
  ): Promise<UpdateRuntimeConfigResponse>;
  /**
   * Creates and starts the sandbox; its network is up when this returns. A timeout leaves the outcome unknown: look it
   * up.
   */
  runPodSandbox(request: DeepPartial<RunPodSandboxRequest>, options?: CallOptions): Promise<RunPodSandboxResponse>;
  /** Kills what runs in the sandbox and takes its network down. Repeating it is success. */
  stopPodSandbox(request: DeepPartial<StopPodSandboxRequest>, options?: CallOptions): Promise<StopPodSandboxResponse>;
  /** Removes a stopped sandbox with its containers. Removing what is gone is success. */
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
  /** Best effort: `Unimplemented` is tolerated. */
  updatePodSandboxResources(
    request: DeepPartial<UpdatePodSandboxResourcesRequest>,
    options?: CallOptions,
  ): Promise<UpdatePodSandboxResourcesResponse>;
  /** Answers with a URL at the runtime's streaming server. */
  portForward(request: DeepPartial<PortForwardRequest>, options?: CallOptions): Promise<PortForwardResponse>;
  /** Fails with `AlreadyExists` or `Conflict` while the same (name, attempt) is known. */
  createContainer(
    request: DeepPartial<CreateContainerRequest>,
    options?: CallOptions,
  ): Promise<CreateContainerResponse>;
  startContainer(request: DeepPartial<StartContainerRequest>, options?: CallOptions): Promise<StartContainerResponse>;
  /** `timeout` is in seconds. Stopping what has stopped is success. */
  stopContainer(request: DeepPartial<StopContainerRequest>, options?: CallOptions): Promise<StopContainerResponse>;
  /** Removing what is gone is success. */
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
  /** For log rotation: after the old file was renamed. */
  reopenContainerLog(
    request: DeepPartial<ReopenContainerLogRequest>,
    options?: CallOptions,
  ): Promise<ReopenContainerLogResponse>;
  checkpointContainer(
    request: DeepPartial<CheckpointContainerRequest>,
    options?: CallOptions,
  ): Promise<CheckpointContainerResponse>;
  /** Lasts until aborted. */
  getContainerEvents(
    request: DeepPartial<GetEventsRequest>,
    options?: CallOptions,
  ): AsyncIterable<ContainerEventResponse>;
  /**
   * Runs a command to its end; `timeout` in seconds, 0 means none. The exit code is in the answer, not in an error.
   * Output is cut at 16 MB by the runtime.
   */
  execSync(request: DeepPartial<ExecSyncRequest>, options?: CallOptions): Promise<ExecSyncResponse>;
  /** Answers with a URL at the runtime's streaming server. */
  exec(request: DeepPartial<ExecRequest>, options?: CallOptions): Promise<ExecResponse>;
  /** Answers with a URL at the runtime's streaming server. */
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

/** Images and the filesystems that hold them. */
export interface ImageServiceApi {
  listImages(request: DeepPartial<ListImagesRequest>, options?: CallOptions): Promise<ListImagesResponse>;
  streamImages(request: DeepPartial<StreamImagesRequest>, options?: CallOptions): AsyncIterable<StreamImagesResponse>;
  /** `image` is undefined in the answer when the image is not present; that is no error. */
  imageStatus(request: DeepPartial<ImageStatusRequest>, options?: CallOptions): Promise<ImageStatusResponse>;
  /** No deadline of its own. Answers with the reference to use in CreateContainer. */
  pullImage(request: DeepPartial<PullImageRequest>, options?: CallOptions): Promise<PullImageResponse>;
  /** Removing what is gone is success. */
  removeImage(request: DeepPartial<RemoveImageRequest>, options?: CallOptions): Promise<RemoveImageResponse>;
  imageFsInfo(request: DeepPartial<ImageFsInfoRequest>, options?: CallOptions): Promise<ImageFsInfoResponse>;
}
