import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from './condition.docs.ts';
import {
  PodConditionSchema,
  HostIPSchema,
  PodIPSchema,
  ContainerStateWaitingSchema,
  ContainerStateRunningSchema,
  ContainerStateTerminatedSchema,
  ContainerStateSchema,
  ImageVolumeStatusSchema,
  VolumeStatusSchema,
  VolumeMountStatusSchema,
  LinuxContainerUserSchema,
  ContainerUserSchema,
  ResourceHealthSchema,
  ResourceStatusSchema,
  ContainerStatusSchema,
  PodResourceClaimStatusSchema,
  ContainerExtendedResourceRequestSchema,
  PodExtendedResourceClaimStatusSchema,
  NodeAllocatableResourceClaimStatusSchema,
  PodStatusSchema,
} from './pod-status.ts';

export const docs: readonly TypeDocs[] = [
  describe(PodConditionSchema, 'A condition of a pod.', {
    ...conditionDocs,
  }),
  describe(HostIPSchema, 'An address of a node.', {
    ip: 'The IP address.',
  }),
  describe(PodIPSchema, 'An address of a pod.', {
    ip: 'The IP address.',
  }),
  describe(ContainerStateWaitingSchema, 'The state of a container that is not running yet.', {
    reason: 'The reason, as one word, such as ImagePullBackOff.',
    message: 'The reason, as a text for people.',
  }),
  describe(ContainerStateRunningSchema, 'The state of a running container.', {
    startedAt: 'When the container started.',
  }),
  describe(ContainerStateTerminatedSchema, 'The state of a container that has ended.', {
    exitCode: 'The exit code.',
    signal: 'The signal that ended the container.',
    reason: 'The reason, as one word, such as Completed, Error or OOMKilled.',
    message: 'The termination message.',
    startedAt: 'When the container started.',
    finishedAt: 'When the container ended.',
    containerID: 'The id of the container in the runtime.',
  }),
  describe(ContainerStateSchema, 'The state of a container: one of waiting, running and terminated.', {
    waiting: 'Set if the container is not running yet.',
    running: 'Set if the container is running.',
    terminated: 'Set if the container has ended.',
  }),
  describe(ImageVolumeStatusSchema, 'The state of an image volume.', {
    imageRef: 'The digest of the mounted image.',
  }),
  describe(VolumeStatusSchema, 'Details of a mounted volume.', {
    image: 'Details of an image volume.',
  }),
  describe(VolumeMountStatusSchema, 'The state of a volume mount.', {
    name: 'The name of the volume mount.',
    mountPath: 'The path in the container.',
    readOnly: 'Whether the mount is read-only.',
    recursiveReadOnly: 'Whether the mounts below it are read-only too: Disabled, Enabled or absent.',
    volumeStatus: 'Details of the volume.',
  }),
  describe(LinuxContainerUserSchema, 'A user on Linux.', {
    uid: 'The ID of the user.',
    gid: 'The ID of the primary group.',
    supplementalGroups: 'The IDs of the other groups.',
  }),
  describe(ContainerUserSchema, 'The user of the first process of a container.', {
    linux: 'The user on Linux.',
  }),
  describe(ResourceHealthSchema, 'The health of one device.', {
    resourceID: 'The ID of the device, unique on the node.',
    health: 'The health of the device: Healthy, Unhealthy or Unknown.',
    message: 'The error of the device, as a text for people.',
  }),
  describe(ResourceStatusSchema, 'The health of one resource of a container.', {
    name: 'The name of the resource.',
    resources: 'The health of each device.',
  }),
  describe(ContainerStatusSchema, 'The state of a container.', {
    name: 'The name of the container.',
    state: 'The current state.',
    lastState: 'How the previous run ended.',
    ready: 'Whether the container is ready to serve requests.',
    restartCount: 'How often the container was restarted.',
    image: 'The image of the container.',
    imageID: 'The digest of the image.',
    containerID: 'The id of the container in the runtime, as runtime://id.',
    started: 'Whether the container has passed its startup probe and postStart hook.',
    allocatedResources: 'The requests that the kubelet has allocated for the container.',
    resources: 'The requests and limits that are in effect for the container.',
    volumeMounts: 'The state of the volume mounts.',
    user: 'The user of the first process of the container.',
    allocatedResourcesStatus: 'The health of the devices of the container.',
    stopSignal: 'The signal that stops the container.',
  }),
  describe(PodResourceClaimStatusSchema, 'A ResourceClaim that was created for a pod.', {
    name: 'The name of the claim in the pod.',
    resourceClaimName: 'The name of the ResourceClaim; absent when none was needed.',
  }),
  describe(ContainerExtendedResourceRequestSchema, 'A request of a claim that provides a resource of a container.', {
    containerName: 'The container.',
    resourceName: 'The resource.',
    requestName: 'The request in the claim.',
  }),
  describe(PodExtendedResourceClaimStatusSchema, 'The claim for extended resources that devices provide.', {
    requestMappings: 'Which request of the claim provides which resource of which container.',
    resourceClaimName: 'The ResourceClaim.',
  }),
  describe(
    NodeAllocatableResourceClaimStatusSchema,
    'A ResourceClaim that uses a part of the allocatable resources of the node.',
    {
      resourceClaimName: 'The ResourceClaim.',
      containers: 'The containers that use the claim.',
      resources: 'The amounts that the claim uses.',
    },
  ),
  describe(PodStatusSchema, 'The state of a pod.', {
    observedGeneration: 'The `metadata.generation` for which this status was computed.',
    phase: 'Pending, Running, Succeeded, Failed or Unknown.',
    conditions: 'Conditions of the pod, such as PodScheduled, Initialized and Ready.',
    message: 'The reason of the state, as a text for people.',
    reason: 'The reason of the state, as one word.',
    nominatedNodeName: 'The node on which pods are being preempted for this pod.',
    hostIP: 'The primary address of the node.',
    hostIPs: 'All addresses of the node.',
    podIP: 'The primary address of the pod.',
    podIPs: 'All addresses of the pod.',
    startTime: 'When the kubelet accepted the pod.',
    initContainerStatuses: 'The state of the init containers.',
    containerStatuses: 'The state of the containers.',
    qosClass: 'Guaranteed, Burstable or BestEffort. Under memory pressure BestEffort pods are evicted first.',
    ephemeralContainerStatuses: 'The state of the ephemeral containers.',
    resize: 'Deprecated: see the conditions PodResizePending and PodResizeInProgress.',
    resourceClaimStatuses: 'The ResourceClaims that were created for the pod.',
    extendedResourceClaimStatus: 'The ResourceClaim that was created for extended resources provided by devices.',
    allocatedResources: 'The requests that the kubelet has allocated for the pod.',
    resources: 'The requests and limits that are in effect for the pod.',
    nodeAllocatableResourceClaimStatuses:
      'The ResourceClaims that use a part of the allocatable resources of the node.',
  }),
];
