/** Endpoints of core/v1. Which fields exist follows k8s.io/api/core/v1. */
import { array, atomic, int32, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ProtocolSchema } from './container.ts';
import { ListMetaSchema, ObjectMetaSchema, ObjectReferenceSchema } from './meta.ts';

export const EndpointAddressSchema = atomic(
  object('EndpointAddress', {
    ip: required(string),
    hostname: string,
    nodeName: string,
    targetRef: ObjectReferenceSchema,
  }),
);
export type EndpointAddress = Infer<typeof EndpointAddressSchema>;

export const EndpointPortSchema = atomic(
  object('EndpointPort', {
    name: string,
    port: required(int32),
    protocol: ProtocolSchema,
    appProtocol: string,
  }),
);
export type EndpointPort = Infer<typeof EndpointPortSchema>;

export const EndpointSubsetSchema = object('EndpointSubset', {
  addresses: array(EndpointAddressSchema),
  notReadyAddresses: array(EndpointAddressSchema),
  ports: array(EndpointPortSchema),
});
export type EndpointSubset = Infer<typeof EndpointSubsetSchema>;

export const EndpointsSchema = object('Endpoints', {
  kind: string,
  apiVersion: string,
  metadata: required(ObjectMetaSchema),
  subsets: array(EndpointSubsetSchema),
});
export type Endpoints = Infer<typeof EndpointsSchema>;

export const EndpointsListSchema = object('EndpointsList', {
  kind: string,
  apiVersion: string,
  metadata: ListMetaSchema,
  items: required(array(EndpointsSchema)),
});
export type EndpointsList = Infer<typeof EndpointsListSchema>;
