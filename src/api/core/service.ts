/** Service of core/v1. The fields follow k8s.io/api/core/v1. */
import {
  array,
  atomic,
  boolean,
  field,
  filled,
  int32,
  intOrString,
  map,
  object,
  oneOf,
  pointer,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';

const ServiceTypeSchema = oneOf('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName');
export type ServiceType = Infer<typeof ServiceTypeSchema>;

export const ServicePortSchema = object('ServicePort', {
  name: field(1, string),
  protocol: field(2, oneOf('TCP', 'UDP', 'SCTP')),
  appProtocol: pointer(6, string),
  port: required(3, int32),
  targetPort: field(4, intOrString),
  nodePort: field(5, int32),
});
export type ServicePort = Infer<typeof ServicePortSchema>;

export const ClientIPConfigSchema = object('ClientIPConfig', {
  timeoutSeconds: pointer(1, int32),
});
export type ClientIPConfig = Infer<typeof ClientIPConfigSchema>;

export const SessionAffinityConfigSchema = object('SessionAffinityConfig', {
  clientIP: field(1, ClientIPConfigSchema),
});
export type SessionAffinityConfig = Infer<typeof SessionAffinityConfigSchema>;

export const ServiceSpecSchema = object('ServiceSpec', {
  ports: field(1, array(ServicePortSchema, ['port', 'protocol'], { keyDefaults: { protocol: 'TCP' } })),
  selector: field(2, atomic(map(string))),
  /** `None` for a headless service. */
  clusterIP: field(3, string),
  clusterIPs: field(18, array(string)),
  type: field(4, ServiceTypeSchema),
  externalIPs: field(5, array(string)),
  sessionAffinity: field(7, oneOf('ClientIP', 'None')),
  loadBalancerIP: field(8, string),
  loadBalancerSourceRanges: field(9, array(string)),
  externalName: field(10, string),
  externalTrafficPolicy: field(11, oneOf('Cluster', 'Local')),
  healthCheckNodePort: field(12, int32),
  publishNotReadyAddresses: field(13, boolean),
  sessionAffinityConfig: field(14, SessionAffinityConfigSchema),
  ipFamilies: field(19, array(oneOf('IPv4', 'IPv6', ''))),
  ipFamilyPolicy: pointer(17, oneOf('SingleStack', 'PreferDualStack', 'RequireDualStack')),
  allocateLoadBalancerNodePorts: pointer(20, boolean),
  loadBalancerClass: pointer(21, string),
  internalTrafficPolicy: pointer(22, oneOf('Cluster', 'Local')),
  trafficDistribution: pointer(23, string),
});
export type ServiceSpec = Infer<typeof ServiceSpecSchema>;

export const ServiceConditionSchema = object('Condition', {
  type: required(1, string),
  status: required(2, ConditionStatusSchema),
  observedGeneration: field(3, int32),
  lastTransitionTime: field(4, time, { mustBeWritten: true }),
  reason: field(5, string, { mustBeWritten: true }),
  message: field(6, string, { mustBeWritten: true }),
});
export type ServiceCondition = Infer<typeof ServiceConditionSchema>;

export const LoadBalancerPortStatusSchema = object('PortStatus', {
  port: required(1, int32),
  protocol: field(2, oneOf('TCP', 'UDP', 'SCTP'), { mustBeWritten: true }),
  error: pointer(3, string),
});
export type LoadBalancerPortStatus = Infer<typeof LoadBalancerPortStatusSchema>;

export const LoadBalancerIngressSchema = object('LoadBalancerIngress', {
  ip: field(1, string),
  hostname: field(2, string),
  ipMode: pointer(3, string),
  ports: field(4, array(LoadBalancerPortStatusSchema)),
});
export type LoadBalancerIngress = Infer<typeof LoadBalancerIngressSchema>;

export const LoadBalancerStatusSchema = object('LoadBalancerStatus', {
  ingress: field(1, array(LoadBalancerIngressSchema)),
});
export type LoadBalancerStatus = Infer<typeof LoadBalancerStatusSchema>;

export const ServiceStatusSchema = object('ServiceStatus', {
  loadBalancer: field(1, LoadBalancerStatusSchema),
  conditions: field(2, array(ServiceConditionSchema, ['type'])),
});
export type ServiceStatus = Infer<typeof ServiceStatusSchema>;

export const ServiceSchema = object('Service', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, ServiceSpecSchema),
  status: field(3, ServiceStatusSchema),
});
export type Service = Infer<typeof ServiceSchema>;
