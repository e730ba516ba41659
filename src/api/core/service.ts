/** Service of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import {
  array,
  atomic,
  boolean,
  int32,
  intOrString,
  map,
  object,
  oneOf,
  required,
  string,
  time,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ListMetaSchema, ObjectMetaSchema } from './meta.ts';
import { ConditionStatusSchema } from './pod-status.ts';

export const ServiceTypeSchema = oneOf('ClusterIP', 'NodePort', 'LoadBalancer', 'ExternalName');
export type ServiceType = Infer<typeof ServiceTypeSchema>;

export const ServicePortSchema = object('ServicePort', {
  name: string,
  protocol: oneOf('TCP', 'UDP', 'SCTP'),
  appProtocol: string,
  port: required(int32),
  targetPort: intOrString,
  nodePort: int32,
});
export type ServicePort = Infer<typeof ServicePortSchema>;

export const ClientIPConfigSchema = object('ClientIPConfig', {
  timeoutSeconds: int32,
});
export type ClientIPConfig = Infer<typeof ClientIPConfigSchema>;

export const SessionAffinityConfigSchema = object('SessionAffinityConfig', {
  clientIP: ClientIPConfigSchema,
});
export type SessionAffinityConfig = Infer<typeof SessionAffinityConfigSchema>;

export const ServiceSpecSchema = object('ServiceSpec', {
  ports: array(ServicePortSchema, ['port', 'protocol'], { keyDefaults: { protocol: 'TCP' } }),
  selector: atomic(map(string)),
  /** `None` for a headless service. */
  clusterIP: string,
  clusterIPs: array(string),
  type: ServiceTypeSchema,
  externalIPs: array(string),
  sessionAffinity: oneOf('ClientIP', 'None'),
  loadBalancerIP: string,
  loadBalancerSourceRanges: array(string),
  externalName: string,
  externalTrafficPolicy: oneOf('Cluster', 'Local'),
  healthCheckNodePort: int32,
  publishNotReadyAddresses: boolean,
  sessionAffinityConfig: SessionAffinityConfigSchema,
  ipFamilies: array(oneOf('IPv4', 'IPv6', '')),
  ipFamilyPolicy: oneOf('SingleStack', 'PreferDualStack', 'RequireDualStack'),
  allocateLoadBalancerNodePorts: boolean,
  loadBalancerClass: string,
  internalTrafficPolicy: oneOf('Cluster', 'Local'),
  trafficDistribution: string,
});
export type ServiceSpec = Infer<typeof ServiceSpecSchema>;

export const ServiceConditionSchema = object('Condition', {
  type: required(string),
  status: required(ConditionStatusSchema),
  observedGeneration: int32,
  lastTransitionTime: time,
  reason: string,
  message: string,
});
export type ServiceCondition = Infer<typeof ServiceConditionSchema>;

export const LoadBalancerPortStatusSchema = object('PortStatus', {
  port: required(int32),
  protocol: string,
  error: string,
});
export type LoadBalancerPortStatus = Infer<typeof LoadBalancerPortStatusSchema>;

export const LoadBalancerIngressSchema = object('LoadBalancerIngress', {
  ip: string,
  hostname: string,
  ipMode: string,
  ports: array(LoadBalancerPortStatusSchema),
});
export type LoadBalancerIngress = Infer<typeof LoadBalancerIngressSchema>;

export const LoadBalancerStatusSchema = object('LoadBalancerStatus', {
  ingress: array(LoadBalancerIngressSchema),
});
export type LoadBalancerStatus = Infer<typeof LoadBalancerStatusSchema>;

export const ServiceStatusSchema = object('ServiceStatus', {
  loadBalancer: LoadBalancerStatusSchema,
  conditions: array(ServiceConditionSchema, ['type']),
});
export type ServiceStatus = Infer<typeof ServiceStatusSchema>;

export const ServiceSchema = object('Service', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  spec: required(ServiceSpecSchema),
  status: ServiceStatusSchema,
});
export type Service = Infer<typeof ServiceSchema>;

export const ServiceListSchema = object('ServiceList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(ServiceSchema)),
});
export type ServiceList = Infer<typeof ServiceListSchema>;
