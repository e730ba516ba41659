import { endpointLabels } from '../../../api/annotations.ts';
import { endpoints } from '../../../api/client/resource-types.ts';
import type { Endpoints } from '../../../api/core/endpoints.ts';
import { EndpointsSchema } from '../../../api/core/endpoints.ts';
import { defaultEndpoints } from '../../../api/defaults/default-endpoints.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { addressWarnings, joinHostPort } from '../../../api/validation/network/endpoint-ip.ts';
import { validateEndpoints } from '../../../api/validation/network/validate-endpoints.ts';
import { defineResource } from '../define-resource.ts';
import { listSome } from '../print-cells.ts';

/** Formats the ready endpoints. */
function endpointsText({ subsets = [] }: Endpoints): string {
  if (subsets.length === 0) return '<none>';
  const shown = subsets.flatMap(({ addresses = [], ports = [] }) =>
    ports.length === 0
      ? addresses.map(({ ip }) => ip)
      : ports.flatMap(({ port }) => addresses.map(({ ip }) => joinHostPort(ip, port))),
  );
  return listSome(shown, '');
}

/** Returns warnings, except for the controller's own objects. */
function warnings({ metadata, subsets = [] }: Endpoints): string[] {
  if (metadata.labels?.[endpointLabels.endpointsManagedBy] === 'endpoint-controller') return [];
  return subsets.flatMap((subset, index) =>
    (['addresses', 'notReadyAddresses'] as const).flatMap((field) =>
      (subset[field] ?? []).flatMap(({ ip }, position) =>
        addressWarnings(`subsets[${index}].${field}[${position}].ip`, ip),
      ),
    ),
  );
}

export const endpointsResource = defineResource<Endpoints>({
  type: endpoints,
  singular: 'endpoints',
  shortNames: ['ep'],
  deprecation: 'v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice',
  schema: EndpointsSchema,
  storagePath: 'services/endpoints',
  rules: {
    applyDefaults: defaultEndpoints,
    validate: (object) => validateEndpoints(object),
    validateName: checkDnsSubdomain,
    validateUpdate: validateEndpoints,
    warnings,
    allowCreateOnUpdate: true,
  },
  columns: [{ name: 'Endpoints', type: 'string', description: 'Where the service is ready.', cell: endpointsText }],
});
