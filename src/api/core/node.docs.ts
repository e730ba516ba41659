import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { conditionDocs } from './condition.docs.ts';
import {
  TaintSchema,
  ConfigMapNodeConfigSourceSchema,
  NodeConfigSourceSchema,
  NodeSpecSchema,
  NodeConditionSchema,
  NodeAddressSchema,
  DaemonEndpointSchema,
  NodeDaemonEndpointsSchema,
  NodeSwapStatusSchema,
  NodeSystemInfoSchema,
  ContainerImageSchema,
  AttachedVolumeSchema,
  NodeConfigStatusSchema,
  NodeRuntimeHandlerFeaturesSchema,
  NodeRuntimeHandlerSchema,
  NodeFeaturesSchema,
  NodeStatusSchema,
  NodeSchema,
} from './node.ts';

export const docs: readonly TypeDocs[] = [
  describe(TaintSchema, 'Keeps pods off a node that do not tolerate the taint.', {
    key: 'The key of the taint.',
    value: 'The value of the taint.',
    effect: 'NoSchedule, PreferNoSchedule or NoExecute, which also evicts running pods.',
    timeAdded: 'When a NoExecute taint was added.',
  }),
  describe(ConfigMapNodeConfigSourceSchema, 'Deprecated: a ConfigMap with a kubelet configuration.', {
    namespace: 'The namespace of the ConfigMap.',
    name: 'The name of the ConfigMap.',
    uid: 'The uid of the ConfigMap.',
    resourceVersion: 'The resourceVersion of the ConfigMap.',
    kubeletConfigKey: 'The key with the configuration.',
  }),
  describe(NodeConfigSourceSchema, 'Deprecated: the source of a dynamic kubelet configuration.', {
    configMap: 'The ConfigMap.',
  }),
  describe(NodeSpecSchema, 'The settings of a node.', {
    podCIDR: 'The address range for pods of the node.',
    podCIDRs: 'The address ranges for pods of the node, one per IP family.',
    providerID: 'The id of the node at the cloud provider.',
    unschedulable: 'Whether new pods are kept off the node (kubectl cordon). Default false.',
    taints: 'The taints of the node.',
    configSource: 'Deprecated: the source of a dynamic kubelet configuration.',
    externalID: 'Deprecated and unused.',
  }),
  describe(NodeConditionSchema, 'A condition of a node.', {
    ...conditionDocs,
    lastHeartbeatTime: 'When the condition was last reported.',
  }),
  describe(NodeAddressSchema, 'An address of a node.', {
    type: 'Hostname, InternalIP, ExternalIP, InternalDNS or ExternalDNS.',
    address: 'The address or name.',
  }),
  describe(DaemonEndpointSchema, 'A port of a daemon.', {
    Port: 'The port number.',
  }),
  describe(NodeDaemonEndpointsSchema, 'The ports of the daemons of a node.', {
    kubeletEndpoint: 'The port of the kubelet.',
  }),
  describe(NodeSwapStatusSchema, 'The swap space of a node.', {
    capacity: 'The size of the swap space, in bytes.',
  }),
  describe(NodeSystemInfoSchema, 'System information of a node.', {
    machineID: 'The machine id of the installation.',
    systemUUID: 'The id of the hardware.',
    bootID: 'The boot id; changes with each boot.',
    kernelVersion: 'The version of the kernel.',
    osImage: 'The name of the operating system.',
    containerRuntimeVersion: 'The name and version of the container runtime.',
    kubeletVersion: 'The version of the kubelet.',
    kubeProxyVersion: 'Deprecated and unused.',
    operatingSystem: 'The operating system, such as linux.',
    architecture: 'The architecture, such as amd64.',
    swap: 'The swap space.',
  }),
  describe(ContainerImageSchema, 'A container image on a node.', {
    names: 'The names of the image.',
    sizeBytes: 'The size of the image, in bytes.',
  }),
  describe(AttachedVolumeSchema, 'A volume that is attached to a node.', {
    name: 'The name of the volume.',
    devicePath: 'The path of the device.',
  }),
  describe(NodeConfigStatusSchema, 'Deprecated: the state of a dynamic kubelet configuration.', {
    assigned: 'The configuration that the node should use.',
    active: 'The configuration in use.',
    lastKnownGood: 'The configuration to fall back to.',
    error: 'The error of the configuration.',
  }),
  describe(NodeRuntimeHandlerFeaturesSchema, 'The features of a runtime handler.', {
    recursiveReadOnlyMounts: 'Whether read-only mounts can include all mounts below them.',
    userNamespaces: 'Whether user namespaces are supported, which hostUsers: false needs.',
  }),
  describe(NodeRuntimeHandlerSchema, 'A handler of the container runtime.', {
    name: 'The name of the handler; empty for the default one.',
    features: 'What the handler supports.',
  }),
  describe(NodeFeaturesSchema, 'The features of the container runtime.', {
    supplementalGroupsPolicy: 'Whether pods may set supplementalGroupsPolicy.',
  }),
  describe(NodeStatusSchema, 'The state of a node.', {
    capacity: 'The resources of the node.',
    allocatable: 'The resources of the node that pods can use.',
    phase: 'Deprecated and unused.',
    conditions: 'Conditions of the node: Ready, MemoryPressure, DiskPressure and others.',
    addresses: 'The addresses of the node.',
    daemonEndpoints: 'The ports of the daemons of the node.',
    nodeInfo: 'System information of the node.',
    images: 'The container images on the node.',
    volumesInUse: 'The volumes that pods on the node use.',
    volumesAttached: 'The volumes that are attached to the node.',
    config: 'Deprecated: the state of a dynamic kubelet configuration.',
    runtimeHandlers: 'The handlers of the container runtime.',
    features: 'Features of the container runtime that do not depend on the handler.',
    declaredFeatures: 'Features of Kubernetes that the kubelet supports.',
  }),
  describe(NodeSchema, 'A machine that runs pods.', {}),
];
