/** PodSpec of core/v1: the desired state, with all fields of v1.36. The fields follow k8s.io/api/core/v1. */
import {
  array,
  atomic,
  boolean,
  field,
  int32,
  int64,
  knownValues,
  map,
  object,
  oneOf,
  pointer,
  required,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ContainerSchema, EphemeralContainerSchema } from './container.ts';
import { LocalObjectReferenceSchema } from './meta.ts';
import { ResourceListSchema, ResourceRequirementsSchema } from './resource-requirements.ts';
import { AffinitySchema, TolerationSchema, TopologySpreadConstraintSchema } from './scheduling.ts';
import { PodSecurityContextSchema } from './security-context.ts';
import { VolumeSchema } from './volume.ts';

export const HostAliasSchema = object('HostAlias', {
  ip: required(1, string),
  hostnames: field(2, array(string)),
});
export type HostAlias = Infer<typeof HostAliasSchema>;

export const PodDNSConfigOptionSchema = object('PodDNSConfigOption', {
  name: field(1, string),
  value: pointer(2, string),
});
export type PodDNSConfigOption = Infer<typeof PodDNSConfigOptionSchema>;

export const PodDNSConfigSchema = object('PodDNSConfig', {
  nameservers: field(1, array(string)),
  searches: field(2, array(string)),
  options: field(3, array(PodDNSConfigOptionSchema)),
});
export type PodDNSConfig = Infer<typeof PodDNSConfigSchema>;

export const PodReadinessGateSchema = object('PodReadinessGate', {
  conditionType: required(1, string),
});
export type PodReadinessGate = Infer<typeof PodReadinessGateSchema>;

const OSNameSchema = knownValues('linux', 'windows');
export type OSName = Infer<typeof OSNameSchema>;

export const PodOSSchema = object('PodOS', {
  name: required(1, OSNameSchema),
});
export type PodOS = Infer<typeof PodOSSchema>;

export const PodSchedulingGateSchema = object('PodSchedulingGate', {
  name: required(1, string),
});
export type PodSchedulingGate = Infer<typeof PodSchedulingGateSchema>;

export const PodResourceClaimSchema = object('PodResourceClaim', {
  name: required(1, string),
  resourceClaimName: pointer(3, string),
  resourceClaimTemplateName: pointer(4, string),
});
export type PodResourceClaim = Infer<typeof PodResourceClaimSchema>;

export const PodSchedulingGroupSchema = object('PodSchedulingGroup', {
  podGroupName: pointer(1, string),
});
export type PodSchedulingGroup = Infer<typeof PodSchedulingGroupSchema>;

const RestartPolicySchema = oneOf('Always', 'OnFailure', 'Never');
export type RestartPolicy = Infer<typeof RestartPolicySchema>;

const DNSPolicySchema = oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None');
export type DNSPolicy = Infer<typeof DNSPolicySchema>;

export const PreemptionPolicySchema = oneOf('PreemptLowerPriority', 'Never');
export type PreemptionPolicy = Infer<typeof PreemptionPolicySchema>;

export const PodSpecSchema = object('PodSpec', {
  volumes: field(1, array(VolumeSchema, ['name'], { retainKeys: true })),
  initContainers: field(20, array(ContainerSchema, ['name'])),
  containers: required(2, array(ContainerSchema, ['name'])),
  ephemeralContainers: field(34, array(EphemeralContainerSchema, ['name'])),
  restartPolicy: field(3, RestartPolicySchema),
  terminationGracePeriodSeconds: pointer(4, int64),
  activeDeadlineSeconds: pointer(5, int64),
  dnsPolicy: field(6, DNSPolicySchema),
  nodeSelector: field(7, atomic(map(string))),
  serviceAccountName: field(8, string),
  serviceAccount: field(9, string),
  automountServiceAccountToken: pointer(21, boolean),
  nodeName: field(10, string),
  hostNetwork: field(11, boolean),
  hostPID: field(12, boolean),
  hostIPC: field(13, boolean),
  shareProcessNamespace: pointer(27, boolean),
  securityContext: field(14, PodSecurityContextSchema),
  imagePullSecrets: field(15, array(LocalObjectReferenceSchema, ['name'])),
  hostname: field(16, string),
  subdomain: field(17, string),
  affinity: field(18, AffinitySchema),
  schedulerName: field(19, string),
  tolerations: field(22, array(TolerationSchema)),
  hostAliases: field(23, array(HostAliasSchema, ['ip'])),
  priorityClassName: field(24, string),
  priority: pointer(25, int32),
  dnsConfig: field(26, PodDNSConfigSchema),
  readinessGates: field(28, array(PodReadinessGateSchema)),
  runtimeClassName: pointer(29, string),
  enableServiceLinks: pointer(30, boolean),
  preemptionPolicy: pointer(31, PreemptionPolicySchema),
  overhead: field(32, ResourceListSchema),
  topologySpreadConstraints: field(33, array(TopologySpreadConstraintSchema, ['topologyKey', 'whenUnsatisfiable'])),
  setHostnameAsFQDN: pointer(35, boolean),
  os: field(36, PodOSSchema),
  hostUsers: pointer(37, boolean),
  schedulingGates: field(38, array(PodSchedulingGateSchema, ['name'])),
  resourceClaims: field(39, array(PodResourceClaimSchema, ['name'], { retainKeys: true })),
  resources: field(40, ResourceRequirementsSchema),
  hostnameOverride: pointer(41, string),
  schedulingGroup: field(43, PodSchedulingGroupSchema),
});
export type PodSpec = Infer<typeof PodSpecSchema>;
