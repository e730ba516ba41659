import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { EndpointAddressSchema, EndpointPortSchema, EndpointSubsetSchema, EndpointsSchema } from './endpoints.ts';

export const docs: readonly TypeDocs[] = [
  describe(EndpointAddressSchema, 'An address of an endpoint.', {
    ip: 'The IP address.',
    hostname: 'The host name of the endpoint.',
    nodeName: 'The node of the endpoint.',
    targetRef: 'The object behind the address, such as the pod.',
  }),
  describe(EndpointPortSchema, 'A port of endpoints.', {
    name: 'The name of the port, as in the service.',
    port: 'The port number.',
    protocol: 'TCP, UDP or SCTP. Default TCP.',
    appProtocol: 'The application protocol of the port.',
  }),
  describe(EndpointSubsetSchema, 'Addresses that share the same ports.', {
    addresses: 'The addresses of ready endpoints.',
    notReadyAddresses: 'The addresses of endpoints that are not ready.',
    ports: 'The ports.',
  }),
  describe(EndpointsSchema, 'The endpoints of a service. Deprecated: use EndpointSlice.', {
    subsets: 'Sets of addresses with the same ports.',
  }),
];
