/**
 * PodStatus of core/v1: the state that the agent reports, with all fields of v1.36. The fields follow
 * k8s.io/api/core/v1.
 */
import {
  array,
  boolean,
  field,
  int32,
  int64,
  knownValues,
  map,
  object,
  oneOf,
  pointer,
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

export const ConditionStatusSchema = knownValues('True', 'False', 'Unknown');
export type ConditionStatus = Infer<typeof ConditionStatusSchema>;

export const PodConditionSchema = object('PodCondition', {
  type: required(1, string),
  observedGeneration: field(7, int64),
  status: required(2, ConditionStatusSchema),
  lastProbeTime: field(3, time),
  lastTransitionTime: field(4, time),
  reason: field(5, string),
  message: field(6, string),
});
export type PodCondition = Infer<typeof PodConditionSchema>;

export const HostIPSchema = object('HostIP', {
  ip: required(1, string),
});
export type HostIP = Infer<typeof HostIPSchema>;

export const PodIPSchema = object('PodIP', {
  ip: required(1, string),
});
export type PodIP = Infer<typeof PodIPSchema>;

export const ContainerStateWaitingSchema = object('ContainerStateWaiting', {
  reason: field(1, string),
  message: field(2, string),
});
export type ContainerStateWaiting = Infer<typeof ContainerStateWaitingSchema>;

export const ContainerStateRunningSchema = object('ContainerStateRunning', {
  startedAt: field(1, time),
});
export type ContainerStateRunning = Infer<typeof ContainerStateRunningSchema>;

export const ContainerStateTerminatedSchema = object('ContainerStateTerminated', {
  exitCode: required(1, int32),
  signal: field(2, int32),
  reason: field(3, string),
  message: field(4, string),
  startedAt: field(5, time),
  finishedAt: field(6, time),
  containerID: field(7, string),
});
export type ContainerStateTerminated = Infer<typeof ContainerStateTerminatedSchema>;

export const ContainerStateSchema = object('ContainerState', {
  waiting: field(1, ContainerStateWaitingSchema),
  running: field(2, ContainerStateRunningSchema),
  terminated: field(3, ContainerStateTerminatedSchema),
});
export type ContainerState = Infer<typeof ContainerStateSchema>;

export const ImageVolumeStatusSchema = object('ImageVolumeStatus', {
  imageRef: field(1, string, { mustBeWritten: true }),
});
export type ImageVolumeStatus = Infer<typeof ImageVolumeStatusSchema>;

export const VolumeStatusSchema = object('VolumeStatus', {
  image: field(1, ImageVolumeStatusSchema),
});
export type VolumeStatus = Infer<typeof VolumeStatusSchema>;

export const VolumeMountStatusSchema = object('VolumeMountStatus', {
  name: required(1, string),
  mountPath: required(2, string),
  readOnly: field(3, boolean),
  recursiveReadOnly: pointer(4, RecursiveReadOnlyModeSchema),
  volumeStatus: field(5, VolumeStatusSchema),
});
export type VolumeMountStatus = Infer<typeof VolumeMountStatusSchema>;

export const LinuxContainerUserSchema = object('LinuxContainerUser', {
  uid: required(1, int64),
  gid: required(2, int64),
  supplementalGroups: field(3, array(int64)),
});
export type LinuxContainerUser = Infer<typeof LinuxContainerUserSchema>;

export const ContainerUserSchema = object('ContainerUser', {
  linux: field(1, LinuxContainerUserSchema),
});
export type ContainerUser = Infer<typeof ContainerUserSchema>;

const ResourceHealthStatusSchema = knownValues('Healthy', 'Unhealthy', 'Unknown');
export type ResourceHealthStatus = Infer<typeof ResourceHealthStatusSchema>;

export const ResourceHealthSchema = object('ResourceHealth', {
  resourceID: required(1, string),
  health: field(2, ResourceHealthStatusSchema),
  message: pointer(6, string),
});
export type ResourceHealth = Infer<typeof ResourceHealthSchema>;

export const ResourceStatusSchema = object('ResourceStatus', {
  name: required(1, string),
  resources: field(2, array(ResourceHealthSchema, ['resourceID'], { patch: 'replace' })),
});
export type ResourceStatus = Infer<typeof ResourceStatusSchema>;

export const ContainerStatusSchema = object('ContainerStatus', {
  name: required(1, string),
  state: field(2, ContainerStateSchema),
  lastState: field(3, ContainerStateSchema),
  ready: required(4, boolean),
  restartCount: required(5, int32),
  image: required(6, string),
  imageID: required(7, string),
  containerID: field(8, string),
  started: pointer(9, boolean),
  allocatedResources: field(10, ResourceListSchema),
  resources: field(11, ResourceRequirementsSchema),
  volumeMounts: field(12, array(VolumeMountStatusSchema, ['mountPath'])),
  user: field(13, ContainerUserSchema),
  allocatedResourcesStatus: field(14, array(ResourceStatusSchema, ['name'])),
  stopSignal: pointer(15, SignalSchema),
});
export type ContainerStatus = Infer<typeof ContainerStatusSchema>;

export const PodResourceClaimStatusSchema = object('PodResourceClaimStatus', {
  name: required(1, string),
  resourceClaimName: pointer(2, string),
});
export type PodResourceClaimStatus = Infer<typeof PodResourceClaimStatusSchema>;

export const ContainerExtendedResourceRequestSchema = object('ContainerExtendedResourceRequest', {
  containerName: required(1, string),
  resourceName: required(2, string),
  requestName: required(3, string),
});
export type ContainerExtendedResourceRequest = Infer<typeof ContainerExtendedResourceRequestSchema>;

export const PodExtendedResourceClaimStatusSchema = object('PodExtendedResourceClaimStatus', {
  requestMappings: required(1, array(ContainerExtendedResourceRequestSchema)),
  resourceClaimName: required(2, string),
});
export type PodExtendedResourceClaimStatus = Infer<typeof PodExtendedResourceClaimStatusSchema>;

export const NodeAllocatableResourceClaimStatusSchema = object('NodeAllocatableResourceClaimStatus', {
  resourceClaimName: required(1, string),
  containers: field(2, set(string)),
  resources: required(3, map(quantity)),
});
export type NodeAllocatableResourceClaimStatus = Infer<typeof NodeAllocatableResourceClaimStatusSchema>;

const PodPhaseSchema = oneOf('Pending', 'Running', 'Succeeded', 'Failed', 'Unknown');
export type PodPhase = Infer<typeof PodPhaseSchema>;

const PodQOSClassSchema = oneOf('Guaranteed', 'Burstable', 'BestEffort');
export type PodQOSClass = Infer<typeof PodQOSClassSchema>;

const PodResizeStatusSchema = knownValues('InProgress', 'Deferred', 'Infeasible');
export type PodResizeStatus = Infer<typeof PodResizeStatusSchema>;

export const PodStatusSchema = object('PodStatus', {
  observedGeneration: field(17, int64),
  phase: field(1, PodPhaseSchema),
  conditions: field(2, array(PodConditionSchema, ['type'])),
  message: field(3, string),
  reason: field(4, string),
  nominatedNodeName: field(11, string),
  hostIP: field(5, string),
  hostIPs: field(16, array(HostIPSchema, undefined, { patch: { key: 'ip' } })),
  podIP: field(6, string),
  podIPs: field(12, array(PodIPSchema, ['ip'])),
  startTime: field(7, time),
  initContainerStatuses: field(10, array(ContainerStatusSchema)),
  containerStatuses: field(8, array(ContainerStatusSchema)),
  qosClass: field(9, PodQOSClassSchema),
  ephemeralContainerStatuses: field(13, array(ContainerStatusSchema)),
  resize: field(14, PodResizeStatusSchema),
  resourceClaimStatuses: field(15, array(PodResourceClaimStatusSchema, ['name'], { retainKeys: true })),
  extendedResourceClaimStatus: field(18, PodExtendedResourceClaimStatusSchema),
  allocatedResources: field(19, ResourceListSchema),
  resources: field(20, ResourceRequirementsSchema),
  nodeAllocatableResourceClaimStatuses: field(21, array(NodeAllocatableResourceClaimStatusSchema)),
});
export type PodStatus = Infer<typeof PodStatusSchema>;
