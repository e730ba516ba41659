import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  ServicePortSchema,
  ClientIPConfigSchema,
  SessionAffinityConfigSchema,
  ServiceSpecSchema,
  ServiceConditionSchema,
  LoadBalancerPortStatusSchema,
  LoadBalancerIngressSchema,
  LoadBalancerStatusSchema,
  ServiceStatusSchema,
  ServiceSchema,
} from './service.ts';

export const docs: readonly TypeDocs[] = [
  describe(ServicePortSchema, 'A port of a service.', {
    name: 'The name of the port. Required if there are several.',
    protocol: 'TCP, UDP or SCTP. Default TCP.',
    appProtocol: 'The application protocol of the port.',
    port: 'The port of the service.',
    targetPort: 'The port of the pods, by number or name. Default: port.',
    nodePort: 'The port on every node, for NodePort and LoadBalancer. Default: chosen by the API server.',
  }),
  describe(ClientIPConfigSchema, 'How long session affinity by client address lasts.', {
    timeoutSeconds: 'The duration in seconds, 1 to 86400. Default 10800.',
  }),
  describe(SessionAffinityConfigSchema, 'How long session affinity lasts.', {
    clientIP: 'The settings for ClientIP.',
  }),
  describe(ServiceSpecSchema, 'The desired state of a service.', {
    ports: 'The ports.',
    selector: 'The labels of the pods. Without a selector, endpoints are managed by others.',
    clusterIP:
      'The address in the cluster. None makes the service headless: its name resolves to the addresses of the pods. Default: allocated by the API server.',
    clusterIPs: 'The addresses in the cluster, one per IP family.',
    type: 'ClusterIP, NodePort, LoadBalancer or ExternalName. Default ClusterIP.',
    externalIPs: 'Additional addresses for which nodes accept traffic of the service.',
    sessionAffinity: 'ClientIP or None. ClientIP sends requests of one client to the same pod. Default None.',
    loadBalancerIP: 'Deprecated: the requested address of the load balancer.',
    loadBalancerSourceRanges: 'The address ranges of clients that may use the load balancer.',
    externalName: 'For ExternalName: the name to which DNS resolves the service.',
    externalTrafficPolicy:
      'Where traffic from outside the cluster goes: Cluster to all endpoints, Local to endpoints on the node that received it. Default Cluster.',
    healthCheckNodePort:
      'The port on which load balancers check whether a node has endpoints. Default: allocated by the API server.',
    publishNotReadyAddresses: 'Whether pods that are not ready are published too. Default false.',
    sessionAffinityConfig: 'How long session affinity lasts.',
    ipFamilies: 'The IP families of the service: IPv4, IPv6 or both.',
    ipFamilyPolicy: 'SingleStack, PreferDualStack or RequireDualStack. Default SingleStack.',
    allocateLoadBalancerNodePorts: 'Whether a load balancer gets node ports. Default true.',
    loadBalancerClass: 'The class of the load balancer. Absent: the default implementation.',
    internalTrafficPolicy:
      'Where traffic from inside the cluster goes: Cluster to all endpoints, Local to endpoints on the node of the client. Default Cluster.',
    trafficDistribution: 'A preference for endpoints, such as PreferSameZone or PreferSameNode. Absent: none.',
  }),
  describe(ServiceConditionSchema, 'A condition of a service.', {
    type: 'The type of the condition.',
    status: 'True, False or Unknown.',
    observedGeneration: 'The `metadata.generation` for which the condition was computed.',
    lastTransitionTime: 'When the status last changed.',
    reason: 'The reason of the status, as one word for programs.',
    message: 'The reason of the status, as a text for people.',
  }),
  describe(LoadBalancerPortStatusSchema, 'The state of one port of a load balancer.', {
    port: 'The number of the port.',
    protocol: 'The protocol of the port.',
    error: 'The error of the port, as one word.',
  }),
  describe(LoadBalancerIngressSchema, 'An address of a load balancer.', {
    ip: 'The IP address of the load balancer.',
    hostname: 'The host name of the load balancer.',
    ipMode: 'VIP or Proxy.',
    ports: 'The state of the ports.',
  }),
  describe(LoadBalancerStatusSchema, 'The addresses of a load balancer.', {
    ingress: 'The addresses.',
  }),
  describe(ServiceStatusSchema, 'The state of a service.', {
    loadBalancer: 'The state of the load balancer.',
    conditions: 'Conditions of the service.',
  }),
  describe(ServiceSchema, 'Makes a group of pods available under one address and name.', {}),
];
