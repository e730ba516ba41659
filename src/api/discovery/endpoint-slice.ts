/** EndpointSlice of discovery.k8s.io/v1. The fields follow k8s.io/api/discovery/v1. */
import {
  array,
  atomic,
  boolean,
  field,
  filled,
  int32,
  map,
  object,
  oneOf,
  pointer,
  required,
  set,
  string,
} from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ProtocolSchema } from '../core/container.ts';
import { ObjectMetaSchema, ObjectReferenceSchema } from '../core/meta.ts';

export const EndpointConditionsSchema = object('EndpointConditions', {
  ready: pointer(1, boolean),
  serving: pointer(2, boolean),
  terminating: pointer(3, boolean),
});
export type EndpointConditions = Infer<typeof EndpointConditionsSchema>;

export const ForZoneSchema = object('ForZone', {
  name: required(1, string),
});
export type ForZone = Infer<typeof ForZoneSchema>;

export const ForNodeSchema = object('ForNode', {
  name: required(1, string),
});
export type ForNode = Infer<typeof ForNodeSchema>;

export const EndpointHintsSchema = object('EndpointHints', {
  forZones: field(1, array(ForZoneSchema)),
  forNodes: field(2, array(ForNodeSchema)),
});
export type EndpointHints = Infer<typeof EndpointHintsSchema>;

export const EndpointSchema = object('Endpoint', {
  addresses: required(1, set(string)),
  conditions: field(2, EndpointConditionsSchema),
  hostname: pointer(3, string),
  targetRef: field(4, ObjectReferenceSchema),
  deprecatedTopology: field(5, map(string)),
  nodeName: pointer(6, string),
  zone: pointer(7, string),
  hints: field(8, EndpointHintsSchema),
});
export type Endpoint = Infer<typeof EndpointSchema>;

export const EndpointPortSchema = atomic(
  object('EndpointPort', {
    name: pointer(1, string),
    protocol: pointer(2, ProtocolSchema),
    port: pointer(3, int32),
    appProtocol: pointer(4, string),
  }),
);
export type EndpointPort = Infer<typeof EndpointPortSchema>;

export const EndpointSliceSchema = object('EndpointSlice', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  addressType: required(4, oneOf('IPv4', 'IPv6', 'FQDN')),
  endpoints: filled(2, array(EndpointSchema)),
  ports: filled(3, array(EndpointPortSchema)),
});
export type EndpointSlice = Infer<typeof EndpointSliceSchema>;
