import { endpointLabels } from '../../../api/annotations.ts';
import { endpointSlices } from '../../../api/client/resource-types.ts';
import { defaultEndpointSlice } from '../../../api/defaults/default-endpoints.ts';
import type { EndpointSlice } from '../../../api/discovery/endpoint-slice.ts';
import { EndpointSliceSchema } from '../../../api/discovery/endpoint-slice.ts';
import { semanticEqual } from '../../../api/semantic-equal.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { addressWarnings } from '../../../api/validation/network/endpoint-ip.ts';
import {
  validateEndpointSlice,
  validateEndpointSliceUpdate,
} from '../../../api/validation/network/validate-endpoint-slice.ts';
import { defineResource } from '../define-resource.ts';
import { listSome } from '../print-cells.ts';

const managers = ['endpointslice-controller.k8s.io', 'endpointslicemirroring-controller.k8s.io'];

/** Drops `deprecatedTopology`, which can no longer be set (upstream: dropTopologyOnV1). */
function withoutTopology(slice: EndpointSlice, old?: EndpointSlice): EndpointSlice {
  if (old !== undefined && semanticEqual(old.endpoints, slice.endpoints)) return slice;
  if (slice.endpoints.every(({ deprecatedTopology }) => deprecatedTopology === undefined)) return slice;
  return { ...slice, endpoints: slice.endpoints.map(({ deprecatedTopology: _, ...endpoint }) => endpoint) };
}

/** Returns warnings, except for the controllers' own slices. */
function warnings({ metadata, addressType, endpoints }: EndpointSlice, old: EndpointSlice | undefined): string[] {
  const deprecated =
    old === undefined && addressType === 'FQDN' ? ['spec.addressType: FQDN endpoints are deprecated'] : [];
  if (managers.includes(metadata.labels?.[endpointLabels.slicesManagedBy] ?? '')) return deprecated;
  return [
    ...deprecated,
    ...endpoints.flatMap(({ addresses }, index) =>
      addresses.flatMap((address, position) => addressWarnings(`endpoints[${index}].addresses[${position}]`, address)),
    ),
  ];
}

export const endpointSliceResource = defineResource<EndpointSlice>({
  type: endpointSlices,
  singular: 'endpointslice',
  schema: EndpointSliceSchema,
  storagePath: 'endpointslices',
  rules: {
    applyDefaults: defaultEndpointSlice,
    prepareForCreate: (slice) => withoutTopology(slice),
    validate: (slice) => validateEndpointSlice(slice),
    validateName: checkDnsSubdomain,
    prepareForUpdate: (slice, old) => withoutTopology(slice, old),
    validateUpdate: validateEndpointSliceUpdate,
    warnings,
  },
  countsGeneration: true,
  // Its labels name the service.
  alsoCounts: (slice, old) => !semanticEqual(slice.metadata.labels, old.metadata.labels),
  columns: [
    {
      name: 'AddressType',
      type: 'string',
      description: 'Of which kind all its addresses are.',
      cell: ({ addressType }) => addressType,
    },
    {
      name: 'Ports',
      type: 'string',
      description: 'Ports of each endpoint.',
      cell: ({ ports }) =>
        listSome(
          ports.map(({ port, name }) => String(port ?? name ?? '*')),
          '<unset>',
        ),
    },
    {
      name: 'Endpoints',
      type: 'string',
      description: 'Addresses of its endpoints.',
      cell: ({ endpoints }) =>
        listSome(
          endpoints.flatMap(({ addresses }) => addresses),
          '<unset>',
        ),
    },
  ],
});
