import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  HTTPIngressPathSchema,
  HTTPIngressRuleValueSchema,
  IngressBackendSchema,
  IngressLoadBalancerIngressSchema,
  IngressLoadBalancerStatusSchema,
  IngressPortStatusSchema,
  IngressRuleSchema,
  IngressSchema,
  IngressServiceBackendSchema,
  IngressSpecSchema,
  IngressStatusSchema,
  IngressTLSSchema,
  ServiceBackendPortSchema,
} from './ingress.ts';

export const docs: readonly TypeDocs[] = [
  describe(ServiceBackendPortSchema, 'A port of a service. Exactly one of name and number is set.', {
    name: 'The name of the port.',
    number: 'The number of the port.',
  }),
  describe(IngressServiceBackendSchema, 'A service that receives requests.', {
    name: 'The service, in the namespace of the Ingress.',
    port: 'The port of the service.',
  }),
  describe(IngressBackendSchema, 'What receives requests. Exactly one of service and resource is set.', {
    service: 'A service.',
    resource: 'Another object in the namespace of the Ingress.',
  }),
  describe(HTTPIngressPathSchema, 'The backend for requests whose path matches.', {
    path: 'The path, which begins with a slash. It must be set for Exact and Prefix.',
    pathType:
      'How the path is compared: Exact, the whole path; Prefix, element by element between slashes; ImplementationSpecific, as the IngressClass decides.',
    backend: 'What receives the requests.',
  }),
  describe(HTTPIngressRuleValueSchema, 'Backends for HTTP requests, by path.', {
    paths: 'The paths and their backends.',
  }),
  describe(IngressRuleSchema, 'Backends for requests to a host.', {
    host: 'The domain name of the host; its first label may be a wildcard, `*`. Absent: every host.',
    http: 'The backends for HTTP requests to the host. Absent: the default backend.',
  }),
  describe(IngressTLSSchema, 'A certificate for hosts.', {
    hosts: 'The hosts that the certificate is for. Default: every host of the Ingress.',
    secretName: 'The Secret with certificate and key, in the namespace of the Ingress.',
  }),
  describe(IngressSpecSchema, 'Which requests go to which backends.', {
    ingressClassName:
      'The IngressClass whose controller implements this Ingress. Default: the default class, if there is one.',
    defaultBackend: 'What receives requests that no rule matches. Needed without rules.',
    tls: 'Certificates, chosen by the host that a client names in the TLS handshake (SNI), on port 443.',
    rules: 'Backends by host. Without rules, everything goes to the default backend.',
  }),
  describe(IngressPortStatusSchema, 'The state of a port of a load balancer.', {
    port: 'The number of the port.',
    protocol: 'The protocol of the port.',
    error: 'The problem with the port, as a CamelCase reason or a qualified name.',
  }),
  describe(IngressLoadBalancerIngressSchema, 'An address of a load balancer.', {
    ip: 'An IP address.',
    hostname: 'A domain name.',
    ports: 'The state of the ports of the Ingress.',
  }),
  describe(IngressLoadBalancerStatusSchema, 'The addresses of a load balancer.', {
    ingress: 'The addresses.',
  }),
  describe(IngressStatusSchema, 'The state of an Ingress.', {
    loadBalancer: 'The load balancer that leads to the Ingress.',
  }),
  describe(
    IngressSchema,
    'Rules by which HTTP requests from outside reach services. A controller implements them.',
    {},
  ),
];
