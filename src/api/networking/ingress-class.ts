/** IngressClass of networking.k8s.io/v1. The fields follow k8s.io/api/networking/v1. */
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

/** The value `true` marks the default class for Ingresses without a class. */
export const DEFAULT_INGRESS_CLASS_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';
/** The annotation with the class of an Ingress, from before the field existed. */
export const INGRESS_CLASS_ANNOTATION = 'kubernetes.io/ingress.class';
