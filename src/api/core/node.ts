/** Node of core/v1. The fields follow k8s.io/api/core/v1. */
import {
  array,
  boolean,
  field,
  filled,
  int32,
  int64,
  object,
  oneOf,
  pointer,
  required,
  set,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';
import { ResourceListSchema } from './resource-requirements.ts';
import { TaintEffectSchema } from './scheduling.ts';

export const TaintSchema = object('Taint', {
  key: required(1, string),
  value: field(2, string),
  effect: required(3, TaintEffectSchema),
  timeAdded: field(4, time),
});
export type Taint = Infer<typeof TaintSchema>;

export const ConfigMapNodeConfigSourceSchema = object('ConfigMapNodeConfigSource', {
  namespace: required(1, string),
  name: required(2, string),
  uid: field(3, string),
  resourceVersion: field(4, string),
  kubeletConfigKey: required(5, string),
});
export type ConfigMapNodeConfigSource = Infer<typeof ConfigMapNodeConfigSourceSchema>;

export const NodeConfigSourceSchema = object('NodeConfigSource', {
  configMap: field(2, ConfigMapNodeConfigSourceSchema),
});
export type NodeConfigSource = Infer<typeof NodeConfigSourceSchema>;

export const NodeSpecSchema = object('NodeSpec', {
  podCIDR: field(1, string),
  podCIDRs: field(7, set(string, 'merge')),
  providerID: field(3, string),
  unschedulable: field(4, boolean),
  taints: field(5, array(TaintSchema)),
  configSource: field(6, NodeConfigSourceSchema),
  externalID: field(2, string),
});
export type NodeSpec = Infer<typeof NodeSpecSchema>;

export const NodeConditionSchema = object('NodeCondition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  lastHeartbeatTime: field(3, time),
  lastTransitionTime: field(4, time),
  reason: field(5, string),
  message: field(6, string),
});
export type NodeCondition = Infer<typeof NodeConditionSchema>;

export const NodeAddressSchema = object('NodeAddress', {
  type: required(1, string),
  address: required(2, string),
});
export type NodeAddress = Infer<typeof NodeAddressSchema>;

export const DaemonEndpointSchema = object('DaemonEndpoint', {
  Port: required(1, int32),
});
export type DaemonEndpoint = Infer<typeof DaemonEndpointSchema>;

export const NodeDaemonEndpointsSchema = object('NodeDaemonEndpoints', {
  kubeletEndpoint: field(1, DaemonEndpointSchema),
});
export type NodeDaemonEndpoints = Infer<typeof NodeDaemonEndpointsSchema>;

export const NodeSwapStatusSchema = object('NodeSwapStatus', {
  capacity: pointer(1, int64),
});
export type NodeSwapStatus = Infer<typeof NodeSwapStatusSchema>;

export const NodeSystemInfoSchema = object('NodeSystemInfo', {
  machineID: required(1, string),
  systemUUID: required(2, string),
  bootID: required(3, string),
  kernelVersion: required(4, string),
  osImage: required(5, string),
  containerRuntimeVersion: required(6, string),
  kubeletVersion: required(7, string),
  kubeProxyVersion: required(8, string),
  operatingSystem: required(9, string),
  architecture: required(10, string),
  swap: field(11, NodeSwapStatusSchema),
});
export type NodeSystemInfo = Infer<typeof NodeSystemInfoSchema>;

export const ContainerImageSchema = object('ContainerImage', {
  names: filled(1, array(string)),
  sizeBytes: field(2, int64),
});
export type ContainerImage = Infer<typeof ContainerImageSchema>;

export const AttachedVolumeSchema = object('AttachedVolume', {
  name: required(1, string),
  devicePath: required(2, string),
});
export type AttachedVolume = Infer<typeof AttachedVolumeSchema>;

export const NodeConfigStatusSchema = object('NodeConfigStatus', {
  assigned: field(1, NodeConfigSourceSchema),
  active: field(2, NodeConfigSourceSchema),
  lastKnownGood: field(3, NodeConfigSourceSchema),
  error: field(4, string),
});
export type NodeConfigStatus = Infer<typeof NodeConfigStatusSchema>;

export const NodeRuntimeHandlerFeaturesSchema = object('NodeRuntimeHandlerFeatures', {
  recursiveReadOnlyMounts: pointer(1, boolean),
  userNamespaces: pointer(2, boolean),
});
export type NodeRuntimeHandlerFeatures = Infer<typeof NodeRuntimeHandlerFeaturesSchema>;

export const NodeRuntimeHandlerSchema = object('NodeRuntimeHandler', {
  name: filled(1, string),
  features: field(2, NodeRuntimeHandlerFeaturesSchema),
});
export type NodeRuntimeHandler = Infer<typeof NodeRuntimeHandlerSchema>;

export const NodeFeaturesSchema = object('NodeFeatures', {
  supplementalGroupsPolicy: pointer(1, boolean),
});
export type NodeFeatures = Infer<typeof NodeFeaturesSchema>;

const NodePhaseSchema = oneOf('Pending', 'Running', 'Terminated');
export type NodePhase = Infer<typeof NodePhaseSchema>;

export const NodeStatusSchema = object('NodeStatus', {
  capacity: field(1, ResourceListSchema),
  allocatable: field(2, ResourceListSchema),
  phase: field(3, NodePhaseSchema),
  conditions: field(4, array(NodeConditionSchema, ['type'])),
  addresses: field(5, array(NodeAddressSchema, ['type'])),
  daemonEndpoints: field(6, NodeDaemonEndpointsSchema),
  nodeInfo: field(7, NodeSystemInfoSchema),
  images: field(8, array(ContainerImageSchema)),
  volumesInUse: field(9, array(string)),
  volumesAttached: field(10, array(AttachedVolumeSchema)),
  config: field(11, NodeConfigStatusSchema),
  runtimeHandlers: field(12, array(NodeRuntimeHandlerSchema)),
  features: field(13, NodeFeaturesSchema),
  declaredFeatures: field(14, array(string)),
});
export type NodeStatus = Infer<typeof NodeStatusSchema>;

export const NodeSchema = object('Node', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: field(2, NodeSpecSchema),
  status: field(3, NodeStatusSchema),
});
export type Node = Infer<typeof NodeSchema>;
