/** IngressClass of networking.k8s.io/v1. Which fields exist follows k8s.io/api/networking/v1. */
import { field, filled, object, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const IngressClassParametersReferenceSchema = object('IngressClassParametersReference', {
  apiGroup: pointer(1, string),
  kind: required(2, string),
  name: required(3, string),
  scope: pointer(4, string),
  namespace: pointer(5, string),
});
export type IngressClassParametersReference = Infer<typeof IngressClassParametersReferenceSchema>;

export const IngressClassSpecSchema = object('IngressClassSpec', {
  controller: field(1, string),
  parameters: field(2, IngressClassParametersReferenceSchema),
});
export type IngressClassSpec = Infer<typeof IngressClassSpecSchema>;

export const IngressClassSchema = object('IngressClass', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: filled(2, IngressClassSpecSchema),
});
export type IngressClass = Infer<typeof IngressClassSchema>;

/** With the value `true`, it marks the default class, for Ingresses that name none. */
export const DEFAULT_INGRESS_CLASS_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';
/** How an Ingress named its class before the field existed. */
export const INGRESS_CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
