/** EndpointSlice of discovery.k8s.io/v1. Which fields exist follows k8s.io/api/discovery/v1. */
import { array, atomic, boolean, int32, map, object, required, set, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ProtocolSchema } from '../core/container.ts';
import { ListMetaSchema, ObjectMetaSchema, ObjectReferenceSchema } from '../core/meta.ts';

export const EndpointConditionsSchema = object('EndpointConditions', {
  ready: boolean,
  serving: boolean,
  terminating: boolean,
});
export type EndpointConditions = Infer<typeof EndpointConditionsSchema>;

export const ForZoneSchema = object('ForZone', {
  name: required(string),
});
export type ForZone = Infer<typeof ForZoneSchema>;

export const ForNodeSchema = object('ForNode', {
  name: required(string),
});
export type ForNode = Infer<typeof ForNodeSchema>;

export const EndpointHintsSchema = object('EndpointHints', {
  forZones: array(ForZoneSchema),
  forNodes: array(ForNodeSchema),
});
export type EndpointHints = Infer<typeof EndpointHintsSchema>;

export const EndpointSchema = object('Endpoint', {
  addresses: required(set(string)),
  conditions: EndpointConditionsSchema,
  hostname: string,
  targetRef: ObjectReferenceSchema,
  deprecatedTopology: map(string),
  nodeName: string,
  zone: string,
  hints: EndpointHintsSchema,
});
export type Endpoint = Infer<typeof EndpointSchema>;

export const EndpointPortSchema = atomic(
  object('EndpointPort', {
    name: string,
    protocol: ProtocolSchema,
    port: int32,
    appProtocol: string,
  }),
);
export type EndpointPort = Infer<typeof EndpointPortSchema>;

export const EndpointSliceSchema = object('EndpointSlice', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  addressType: required(string),
  endpoints: required(array(EndpointSchema)),
  ports: required(array(EndpointPortSchema)),
});
export type EndpointSlice = Infer<typeof EndpointSliceSchema>;

export const EndpointSliceListSchema = object('EndpointSliceList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(EndpointSliceSchema)),
});
export type EndpointSliceList = Infer<typeof EndpointSliceListSchema>;
