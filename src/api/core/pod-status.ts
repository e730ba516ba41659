/** What the agent reports back: PodStatus of core/v1, every field of v1.36. Which fields exist follows k8s.io/api/core/v1. */
import {
  array,
  boolean,
  int32,
  int64,
  map,
  object,
  oneOf,
  quantity,
  required,
  set,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { RecursiveReadOnlyModeSchema } from './container.ts';
import { SignalSchema } from './probe.ts';
import { ResourceListSchema, ResourceRequirementsSchema } from './resource-requirements.ts';

export const ConditionStatusSchema = oneOf('True', 'False', 'Unknown');
export type ConditionStatus = Infer<typeof ConditionStatusSchema>;

export const PodConditionSchema = object('PodCondition', {
  type: required(string),
  observedGeneration: int64,
  status: required(ConditionStatusSchema),
  lastProbeTime: time,
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type PodCondition = Infer<typeof PodConditionSchema>;

export const HostIPSchema = object('HostIP', {
  ip: required(string),
});
export type HostIP = Infer<typeof HostIPSchema>;

export const PodIPSchema = object('PodIP', {
  ip: required(string),
});
export type PodIP = Infer<typeof PodIPSchema>;

export const ContainerStateWaitingSchema = object('ContainerStateWaiting', {
  reason: string,
  message: string,
});
export type ContainerStateWaiting = Infer<typeof ContainerStateWaitingSchema>;

export const ContainerStateRunningSchema = object('ContainerStateRunning', {
  startedAt: time,
});
export type ContainerStateRunning = Infer<typeof ContainerStateRunningSchema>;

export const ContainerStateTerminatedSchema = object('ContainerStateTerminated', {
  exitCode: required(int32),
  signal: int32,
  reason: string,
  message: string,
  startedAt: time,
  finishedAt: time,
  containerID: string,
});
export type ContainerStateTerminated = Infer<typeof ContainerStateTerminatedSchema>;

export const ContainerStateSchema = object('ContainerState', {
  waiting: ContainerStateWaitingSchema,
  running: ContainerStateRunningSchema,
  terminated: ContainerStateTerminatedSchema,
});
export type ContainerState = Infer<typeof ContainerStateSchema>;

export const ImageVolumeStatusSchema = object('ImageVolumeStatus', {
  imageRef: string,
});
export type ImageVolumeStatus = Infer<typeof ImageVolumeStatusSchema>;

export const VolumeStatusSchema = object('VolumeStatus', {
  image: ImageVolumeStatusSchema,
});
export type VolumeStatus = Infer<typeof VolumeStatusSchema>;

export const VolumeMountStatusSchema = object('VolumeMountStatus', {
  name: required(string),
  mountPath: required(string),
  readOnly: boolean,
  recursiveReadOnly: RecursiveReadOnlyModeSchema,
  volumeStatus: VolumeStatusSchema,
});
export type VolumeMountStatus = Infer<typeof VolumeMountStatusSchema>;

export const LinuxContainerUserSchema = object('LinuxContainerUser', {
  uid: required(int64),
  gid: required(int64),
  supplementalGroups: array(int64),
});
export type LinuxContainerUser = Infer<typeof LinuxContainerUserSchema>;

export const ContainerUserSchema = object('ContainerUser', {
  linux: LinuxContainerUserSchema,
});
export type ContainerUser = Infer<typeof ContainerUserSchema>;

export const ResourceHealthStatusSchema = oneOf('Healthy', 'Unhealthy', 'Unknown');
export type ResourceHealthStatus = Infer<typeof ResourceHealthStatusSchema>;

export const ResourceHealthSchema = object('ResourceHealth', {
  resourceID: required(string),
  health: ResourceHealthStatusSchema,
  message: string,
});
export type ResourceHealth = Infer<typeof ResourceHealthSchema>;

export const ResourceStatusSchema = object('ResourceStatus', {
  name: required(string),
  resources: array(ResourceHealthSchema, ['resourceID'], { patch: 'replace' }),
});
export type ResourceStatus = Infer<typeof ResourceStatusSchema>;

export const ContainerStatusSchema = object('ContainerStatus', {
  name: required(string),
  state: ContainerStateSchema,
  lastState: ContainerStateSchema,
  ready: required(boolean),
  restartCount: required(int32),
  image: required(string),
  imageID: required(string),
  containerID: string,
  started: boolean,
  allocatedResources: ResourceListSchema,
  resources: ResourceRequirementsSchema,
  volumeMounts: array(VolumeMountStatusSchema, ['mountPath']),
  user: ContainerUserSchema,
  allocatedResourcesStatus: array(ResourceStatusSchema, ['name']),
  stopSignal: SignalSchema,
});
export type ContainerStatus = Infer<typeof ContainerStatusSchema>;

export const PodResourceClaimStatusSchema = object('PodResourceClaimStatus', {
  name: required(string),
  resourceClaimName: string,
});
export type PodResourceClaimStatus = Infer<typeof PodResourceClaimStatusSchema>;

export const ContainerExtendedResourceRequestSchema = object('ContainerExtendedResourceRequest', {
  containerName: required(string),
  resourceName: required(string),
  requestName: required(string),
});
export type ContainerExtendedResourceRequest = Infer<typeof ContainerExtendedResourceRequestSchema>;

export const PodExtendedResourceClaimStatusSchema = object('PodExtendedResourceClaimStatus', {
  requestMappings: required(array(ContainerExtendedResourceRequestSchema)),
  resourceClaimName: required(string),
});
export type PodExtendedResourceClaimStatus = Infer<typeof PodExtendedResourceClaimStatusSchema>;

export const NodeAllocatableResourceClaimStatusSchema = object('NodeAllocatableResourceClaimStatus', {
  resourceClaimName: required(string),
  containers: set(string),
  resources: required(map(quantity)),
});
export type NodeAllocatableResourceClaimStatus = Infer<typeof NodeAllocatableResourceClaimStatusSchema>;

export const PodPhaseSchema = oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown');
export type PodPhase = Infer<typeof PodPhaseSchema>;

export const PodQOSClassSchema = oneOf('Guaranteed', 'Burstable', 'BestEffort');
export type PodQOSClass = Infer<typeof PodQOSClassSchema>;

export const PodResizeStatusSchema = oneOf('InProgress', 'Deferred', 'Infeasible');
export type PodResizeStatus = Infer<typeof PodResizeStatusSchema>;

export const PodStatusSchema = object('PodStatus', {
  observedGeneration: int64,
  phase: PodPhaseSchema,
  conditions: array(PodConditionSchema, ['type']),
  message: string,
  reason: string,
  nominatedNodeName: string,
  hostIP: string,
  hostIPs: array(HostIPSchema, undefined, { patch: { key: 'ip' } }),
  podIP: string,
  podIPs: array(PodIPSchema, ['ip']),
  startTime: time,
  initContainerStatuses: array(ContainerStatusSchema),
  containerStatuses: array(ContainerStatusSchema),
  qosClass: PodQOSClassSchema,
  ephemeralContainerStatuses: array(ContainerStatusSchema),
  resize: PodResizeStatusSchema,
  resourceClaimStatuses: array(PodResourceClaimStatusSchema, ['name'], { retainKeys: true }),
  extendedResourceClaimStatus: PodExtendedResourceClaimStatusSchema,
  allocatedResources: ResourceListSchema,
  resources: ResourceRequirementsSchema,
  nodeAllocatableResourceClaimStatuses: array(NodeAllocatableResourceClaimStatusSchema),
});
export type PodStatus = Infer<typeof PodStatusSchema>;
