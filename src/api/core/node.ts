/** Node of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, boolean, int32, int64, object, oneOf, required, set, string, time } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';
import { ResourceListSchema } from './resource-requirements.ts';
import { TaintEffectSchema } from './scheduling.ts';

export const TaintSchema = object('Taint', {
  key: required(string),
  value: string,
  effect: required(TaintEffectSchema),
  timeAdded: time,
});
export type Taint = Infer<typeof TaintSchema>;

export const ConfigMapNodeConfigSourceSchema = object('ConfigMapNodeConfigSource', {
  namespace: required(string),
  name: required(string),
  uid: string,
  resourceVersion: string,
  kubeletConfigKey: required(string),
});
export type ConfigMapNodeConfigSource = Infer<typeof ConfigMapNodeConfigSourceSchema>;

export const NodeConfigSourceSchema = object('NodeConfigSource', {
  configMap: ConfigMapNodeConfigSourceSchema,
});
export type NodeConfigSource = Infer<typeof NodeConfigSourceSchema>;

export const NodeSpecSchema = object('NodeSpec', {
  podCIDR: string,
  podCIDRs: set(string, 'merge'),
  providerID: string,
  unschedulable: boolean,
  taints: array(TaintSchema),
  configSource: NodeConfigSourceSchema,
  externalID: string,
});
export type NodeSpec = Infer<typeof NodeSpecSchema>;

export const NodeConditionSchema = object('NodeCondition', {
  type: required(string),
  status: required(ConditionStatusSchema),
  lastHeartbeatTime: time,
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type NodeCondition = Infer<typeof NodeConditionSchema>;

export const NodeAddressSchema = object('NodeAddress', {
  type: required(string),
  address: required(string),
});
export type NodeAddress = Infer<typeof NodeAddressSchema>;

export const DaemonEndpointSchema = object('DaemonEndpoint', {
  Port: required(int32),
});
export type DaemonEndpoint = Infer<typeof DaemonEndpointSchema>;

export const NodeDaemonEndpointsSchema = object('NodeDaemonEndpoints', {
  kubeletEndpoint: DaemonEndpointSchema,
});
export type NodeDaemonEndpoints = Infer<typeof NodeDaemonEndpointsSchema>;

export const NodeSwapStatusSchema = object('NodeSwapStatus', {
  capacity: int64,
});
export type NodeSwapStatus = Infer<typeof NodeSwapStatusSchema>;

export const NodeSystemInfoSchema = object('NodeSystemInfo', {
  machineID: required(string),
  systemUUID: required(string),
  bootID: required(string),
  kernelVersion: required(string),
  osImage: required(string),
  containerRuntimeVersion: required(string),
  kubeletVersion: required(string),
  kubeProxyVersion: required(string),
  operatingSystem: required(string),
  architecture: required(string),
  swap: NodeSwapStatusSchema,
});
export type NodeSystemInfo = Infer<typeof NodeSystemInfoSchema>;

export const ContainerImageSchema = object('ContainerImage', {
  names: required(array(string)),
  sizeBytes: int64,
});
export type ContainerImage = Infer<typeof ContainerImageSchema>;

export const AttachedVolumeSchema = object('AttachedVolume', {
  name: required(string),
  devicePath: required(string),
});
export type AttachedVolume = Infer<typeof AttachedVolumeSchema>;

export const NodeConfigStatusSchema = object('NodeConfigStatus', {
  assigned: NodeConfigSourceSchema,
  active: NodeConfigSourceSchema,
  lastKnownGood: NodeConfigSourceSchema,
  error: string,
});
export type NodeConfigStatus = Infer<typeof NodeConfigStatusSchema>;

export const NodeRuntimeHandlerFeaturesSchema = object('NodeRuntimeHandlerFeatures', {
  recursiveReadOnlyMounts: boolean,
  userNamespaces: boolean,
});
export type NodeRuntimeHandlerFeatures = Infer<typeof NodeRuntimeHandlerFeaturesSchema>;

export const NodeRuntimeHandlerSchema = object('NodeRuntimeHandler', {
  name: required(string),
  features: NodeRuntimeHandlerFeaturesSchema,
});
export type NodeRuntimeHandler = Infer<typeof NodeRuntimeHandlerSchema>;

export const NodeFeaturesSchema = object('NodeFeatures', {
  supplementalGroupsPolicy: boolean,
});
export type NodeFeatures = Infer<typeof NodeFeaturesSchema>;

export const NodePhaseSchema = oneOf('Pending', 'Running', 'Terminated');
export type NodePhase = Infer<typeof NodePhaseSchema>;

export const NodeStatusSchema = object('NodeStatus', {
  capacity: ResourceListSchema,
  allocatable: ResourceListSchema,
  phase: NodePhaseSchema,
  conditions: array(NodeConditionSchema, ['type']),
  addresses: array(NodeAddressSchema, ['type']),
  daemonEndpoints: NodeDaemonEndpointsSchema,
  nodeInfo: NodeSystemInfoSchema,
  images: array(ContainerImageSchema),
  volumesInUse: array(string),
  volumesAttached: array(AttachedVolumeSchema),
  config: NodeConfigStatusSchema,
  runtimeHandlers: array(NodeRuntimeHandlerSchema),
  features: NodeFeaturesSchema,
  declaredFeatures: array(string),
});
export type NodeStatus = Infer<typeof NodeStatusSchema>;

export const NodeSchema = object('Node', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: NodeSpecSchema,
  status: NodeStatusSchema,
});
export type Node = Infer<typeof NodeSchema>;

export const NodeListSchema = object('NodeList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(NodeSchema)),
});
export type NodeList = Infer<typeof NodeListSchema>;
