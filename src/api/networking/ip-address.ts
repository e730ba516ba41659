/** IPAddress of networking.k8s.io/v1. The fields follow k8s.io/api/networking/v1. */
import { field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const ParentReferenceSchema = object('ParentReference', {
  group: field(1, string),
  resource: field(2, string, { mustBeWritten: true }),
  namespace: field(3, string),
  name: field(4, string, { mustBeWritten: true }),
});
export type ParentReference = Infer<typeof ParentReferenceSchema>;

export const IPAddressSpecSchema = object('IPAddressSpec', {
  parentRef: field(1, ParentReferenceSchema, { mustBeWritten: true }),
});
export type IPAddressSpec = Infer<typeof IPAddressSpecSchema>;

export const IPAddressSchema = object('IPAddress', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, IPAddressSpecSchema),
});
export type IPAddress = Infer<typeof IPAddressSchema>;
