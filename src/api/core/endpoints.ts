/** Endpoints of core/v1. The fields follow k8s.io/api/core/v1. */
import { array, atomic, field, filled, int32, object, pointer, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ProtocolSchema } from './container.ts';
import { ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';

export const EndpointAddressSchema = atomic(
  object('EndpointAddress', {
    ip: required(1, string),
    hostname: field(3, string),
    nodeName: pointer(4, string),
    targetRef: field(2, ObjectReferenceSchema),
  }),
);
export type EndpointAddress = Infer<typeof EndpointAddressSchema>;

export const EndpointPortSchema = atomic(
  object('EndpointPort', {
    name: field(1, string),
    port: required(2, int32),
    protocol: field(3, ProtocolSchema),
    appProtocol: pointer(4, string),
  }),
);
export type EndpointPort = Infer<typeof EndpointPortSchema>;

export const EndpointSubsetSchema = object('EndpointSubset', {
  addresses: field(1, array(EndpointAddressSchema)),
  notReadyAddresses: field(2, array(EndpointAddressSchema)),
  ports: field(3, array(EndpointPortSchema)),
});
export type EndpointSubset = Infer<typeof EndpointSubsetSchema>;

export const EndpointsSchema = object('Endpoints', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  subsets: field(2, array(EndpointSubsetSchema)),
});
export type Endpoints = Infer<typeof EndpointsSchema>;
