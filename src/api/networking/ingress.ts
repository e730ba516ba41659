/** Ingress of networking.k8s.io/v1. The fields follow k8s.io/api/networking/v1. */
import {
  array,
  atomic,
  field,
  filled,
  inline,
  int32,
  object,
  oneOf,
  pointer,
  required,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema, TypedLocalObjectReferenceSchema } from '../core/meta.ts';
import { ProtocolSchema } from '../core/container.ts';

export const ServiceBackendPortSchema = atomic(
  object('ServiceBackendPort', {
    name: field(1, string),
    number: field(2, int32),
  }),
);
export type ServiceBackendPort = Infer<typeof ServiceBackendPortSchema>;

export const IngressServiceBackendSchema = object('IngressServiceBackend', {
  name: required(1, string),
  port: filled(2, ServiceBackendPortSchema),
});
export type IngressServiceBackend = Infer<typeof IngressServiceBackendSchema>;

export const IngressBackendSchema = object('IngressBackend', {
  service: field(4, IngressServiceBackendSchema),
  resource: field(3, TypedLocalObjectReferenceSchema),
});
export type IngressBackend = Infer<typeof IngressBackendSchema>;

export const HTTPIngressPathSchema = object('HTTPIngressPath', {
  path: field(1, string),
  pathType: pointer(3, oneOf('Exact', 'ImplementationSpecific', 'Prefix'), { mustBeWritten: true }),
  backend: required(2, IngressBackendSchema),
});
export type HTTPIngressPath = Infer<typeof HTTPIngressPathSchema>;

export const HTTPIngressRuleValueSchema = object('HTTPIngressRuleValue', {
  paths: required(1, array(HTTPIngressPathSchema)),
});
export type HTTPIngressRuleValue = Infer<typeof HTTPIngressRuleValueSchema>;

export const IngressRuleSchema = object('IngressRule', {
  host: field(1, string),
  ...inline(2, { http: field(1, HTTPIngressRuleValueSchema) }),
});
export type IngressRule = Infer<typeof IngressRuleSchema>;

export const IngressTLSSchema = object('IngressTLS', {
  hosts: field(1, array(string)),
  secretName: field(2, string),
});
export type IngressTLS = Infer<typeof IngressTLSSchema>;

export const IngressSpecSchema = object('IngressSpec', {
  ingressClassName: pointer(4, string),
  defaultBackend: field(1, IngressBackendSchema),
  tls: field(2, array(IngressTLSSchema)),
  rules: field(3, array(IngressRuleSchema)),
});
export type IngressSpec = Infer<typeof IngressSpecSchema>;

export const IngressPortStatusSchema = object('IngressPortStatus', {
  port: required(1, int32),
  protocol: required(2, ProtocolSchema),
  error: pointer(3, string),
});
export type IngressPortStatus = Infer<typeof IngressPortStatusSchema>;

export const IngressLoadBalancerIngressSchema = object('IngressLoadBalancerIngress', {
  ip: field(1, string),
  hostname: field(2, string),
  ports: field(4, array(IngressPortStatusSchema)),
});
export type IngressLoadBalancerIngress = Infer<typeof IngressLoadBalancerIngressSchema>;

export const IngressLoadBalancerStatusSchema = object('IngressLoadBalancerStatus', {
  ingress: field(1, array(IngressLoadBalancerIngressSchema)),
});
export type IngressLoadBalancerStatus = Infer<typeof IngressLoadBalancerStatusSchema>;

export const IngressStatusSchema = object('IngressStatus', {
  loadBalancer: field(1, IngressLoadBalancerStatusSchema),
});
export type IngressStatus = Infer<typeof IngressStatusSchema>;

export const IngressSchema = object('Ingress', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, IngressSpecSchema),
  status: field(3, IngressStatusSchema),
});
export type Ingress = Infer<typeof IngressSchema>;
