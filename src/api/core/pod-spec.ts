/** What the user asks for: PodSpec of core/v1, every field of v1.36. Which fields exist follows k8s.io/api/core/v1. */
import { array, atomic, boolean, int32, int64, map, object, oneOf, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ContainerSchema, EphemeralContainerSchema } from './container.ts';
import { LocalObjectReferenceSchema } from './meta.ts';
import { ResourceListSchema, ResourceRequirementsSchema } from './resource-requirements.ts';
import { AffinitySchema, TolerationSchema, TopologySpreadConstraintSchema } from './scheduling.ts';
import { PodSecurityContextSchema } from './security-context.ts';
import { VolumeSchema } from './volume.ts';

export const HostAliasSchema = object('HostAlias', {
  ip: required(string),
  hostnames: array(string),
});
export type HostAlias = Infer<typeof HostAliasSchema>;

export const PodDNSConfigOptionSchema = object('PodDNSConfigOption', {
  name: string,
  value: string,
});
export type PodDNSConfigOption = Infer<typeof PodDNSConfigOptionSchema>;

export const PodDNSConfigSchema = object('PodDNSConfig', {
  nameservers: array(string),
  searches: array(string),
  options: array(PodDNSConfigOptionSchema),
});
export type PodDNSConfig = Infer<typeof PodDNSConfigSchema>;

export const PodReadinessGateSchema = object('PodReadinessGate', {
  conditionType: required(string),
});
export type PodReadinessGate = Infer<typeof PodReadinessGateSchema>;

export const OSNameSchema = oneOf('linux', 'windows');
export type OSName = Infer<typeof OSNameSchema>;

export const PodOSSchema = object('PodOS', {
  name: required(OSNameSchema),
});
export type PodOS = Infer<typeof PodOSSchema>;

export const PodSchedulingGateSchema = object('PodSchedulingGate', {
  name: required(string),
});
export type PodSchedulingGate = Infer<typeof PodSchedulingGateSchema>;

export const PodResourceClaimSchema = object('PodResourceClaim', {
  name: required(string),
  resourceClaimName: string,
  resourceClaimTemplateName: string,
});
export type PodResourceClaim = Infer<typeof PodResourceClaimSchema>;

export const PodSchedulingGroupSchema = object('PodSchedulingGroup', {
  podGroupName: string,
});
export type PodSchedulingGroup = Infer<typeof PodSchedulingGroupSchema>;

export const RestartPolicySchema = oneOf('Always', 'OnFailure', 'Never');
export type RestartPolicy = Infer<typeof RestartPolicySchema>;

export const DNSPolicySchema = oneOf('ClusterFirstWithHostNet', 'ClusterFirst', 'Default', 'None');
export type DNSPolicy = Infer<typeof DNSPolicySchema>;

export const PreemptionPolicySchema = oneOf('PreemptLowerPriority', 'Never');
export type PreemptionPolicy = Infer<typeof PreemptionPolicySchema>;

export const PodSpecSchema = object('PodSpec', {
  volumes: array(VolumeSchema, ['name'], { retainKeys: true }),
  initContainers: array(ContainerSchema, ['name']),
  containers: required(array(ContainerSchema, ['name'])),
  ephemeralContainers: array(EphemeralContainerSchema, ['name']),
  restartPolicy: RestartPolicySchema,
  terminationGracePeriodSeconds: int64,
  activeDeadlineSeconds: int64,
  dnsPolicy: DNSPolicySchema,
  nodeSelector: atomic(map(string)),
  serviceAccountName: string,
  serviceAccount: string,
  automountServiceAccountToken: boolean,
  nodeName: string,
  hostNetwork: boolean,
  hostPID: boolean,
  hostIPC: boolean,
  shareProcessNamespace: boolean,
  securityContext: PodSecurityContextSchema,
  imagePullSecrets: array(LocalObjectReferenceSchema, ['name']),
  hostname: string,
  subdomain: string,
  affinity: AffinitySchema,
  schedulerName: string,
  tolerations: array(TolerationSchema),
  hostAliases: array(HostAliasSchema, ['ip']),
  priorityClassName: string,
  priority: int32,
  dnsConfig: PodDNSConfigSchema,
  readinessGates: array(PodReadinessGateSchema),
  runtimeClassName: string,
  enableServiceLinks: boolean,
  preemptionPolicy: PreemptionPolicySchema,
  overhead: ResourceListSchema,
  topologySpreadConstraints: array(TopologySpreadConstraintSchema, ['topologyKey', 'whenUnsatisfiable']),
  setHostnameAsFQDN: boolean,
  os: PodOSSchema,
  hostUsers: boolean,
  schedulingGates: array(PodSchedulingGateSchema, ['name']),
  resourceClaims: array(PodResourceClaimSchema, ['name'], { retainKeys: true }),
  resources: ResourceRequirementsSchema,
  hostnameOverride: string,
  schedulingGroup: PodSchedulingGroupSchema,
});
export type PodSpec = Infer<typeof PodSpecSchema>;
