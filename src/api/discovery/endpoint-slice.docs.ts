import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  EndpointConditionsSchema,
  ForZoneSchema,
  ForNodeSchema,
  EndpointHintsSchema,
  EndpointSchema,
  EndpointPortSchema,
  EndpointSliceSchema,
} from './endpoint-slice.ts';

export const docs: readonly TypeDocs[] = [
  describe(EndpointConditionsSchema, 'The state of an endpoint.', {
    ready: 'Whether it should receive traffic. Absent counts as true.',
    serving: 'Whether it can serve, even while it terminates. Absent counts as ready.',
    terminating: 'Whether it is terminating. Absent counts as false.',
  }),
  describe(ForZoneSchema, 'A zone that should use an endpoint.', {
    name: 'The name of the zone.',
  }),
  describe(ForNodeSchema, 'A node that should use an endpoint.', {
    name: 'The name of the node.',
  }),
  describe(EndpointHintsSchema, 'Which clients should use an endpoint.', {
    forZones: 'Clients in these zones; at most 8.',
    forNodes: 'Clients on these nodes; at most 8.',
  }),
  describe(EndpointSchema, 'A backend of a service.', {
    addresses: 'The addresses of the endpoint. Only the first is used.',
    conditions: 'The state of the endpoint.',
    hostname: 'The host name, for DNS.',
    targetRef: 'The object behind the endpoint, such as the pod.',
    deprecatedTopology: 'Deprecated: topology labels of the endpoint.',
    nodeName: 'The node of the endpoint.',
    zone: 'The zone of the endpoint.',
    hints: 'Which clients should use the endpoint.',
  }),
  describe(EndpointPortSchema, 'A port of endpoints.', {
    name: 'The name of the port, as in the service.',
    protocol: 'TCP, UDP or SCTP. Default TCP.',
    port: 'The port number.',
    appProtocol: 'The application protocol of the port.',
  }),
  describe(EndpointSliceSchema, 'A part of the endpoints of a service.', {
    addressType: 'The type of all addresses: IPv4, IPv6 or FQDN. Cannot be changed.',
    endpoints: 'The endpoints; at most 1000.',
    ports: 'The ports of all endpoints.',
  }),
];
