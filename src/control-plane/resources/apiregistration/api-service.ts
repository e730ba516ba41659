import { APIServiceSchema, findAvailable, localCondition } from '../../../api/apiregistration/api-service.ts';
import type { APIService } from '../../../api/apiregistration/api-service.ts';
import { apiServices } from '../../../api/client/resource-types.ts';
import { formatTime } from '../../../api/time.ts';
import {
  validateApiService,
  validateApiServiceStatus,
} from '../../../api/validation/apiregistration/validate-api-service.ts';
import type { RequestFacts } from '../../model/resource-definition.ts';
import { defineResource } from '../define-resource.ts';

const HTTPS_PORT = 443;

export const apiServiceResource = defineResource<APIService>({
  type: apiServices,
  singular: 'apiservice',
  categories: ['api-extensions'],
  schema: APIServiceSchema,
  storagePath: 'apiregistration.k8s.io/apiservices',
  rules: {
    applyDefaults: withPort,
    prepareForCreate: withLocalCondition,
    validate: validateApiService,
    validateUpdate: validateApiService,
    prepareForStatusUpdate: withOldMetadata,
    validateStatusUpdate: validateApiServiceStatus,
    requiresResourceVersion: true,
    anyFinalizer: true,
  },
  hasStatus: true,
  columns: [
    {
      name: 'Service',
      type: 'string',
      description: 'The Service that serves the API, or Local.',
      cell: ({ spec: { service } }) =>
        service === undefined ? 'Local' : `${service.namespace ?? ''}/${service.name ?? ''}`,
    },
    { name: 'Available', type: 'string', description: 'Whether the API is served.', cell: formatAvailable },
  ],
});

function withPort(service: APIService): APIService {
  const { spec } = service;
  if (spec.service === undefined || spec.service.port !== undefined) return service;
  return { ...service, spec: { ...spec, service: { ...spec.service, port: HTTPS_PORT } } };
}

/** Sets the condition: a version that this server serves is available immediately. */
function withLocalCondition(service: APIService, { nowMs }: RequestFacts): APIService {
  if (service.spec.service !== undefined) return service;
  return {
    ...service,
    status: { conditions: [{ ...localCondition, lastTransitionTime: formatTime(nowMs) }] },
  };
}

function withOldMetadata(service: APIService, old: APIService): APIService {
  const { labels: _, annotations: __, finalizers: ___, ownerReferences: ____, ...rest } = service.metadata;
  const { labels, annotations, finalizers, ownerReferences } = old.metadata;
  return {
    ...service,
    metadata: {
      ...rest,
      ...(labels !== undefined && { labels }),
      ...(annotations !== undefined && { annotations }),
      ...(finalizers !== undefined && { finalizers }),
      ...(ownerReferences !== undefined && { ownerReferences }),
    },
  };
}

function formatAvailable(service: APIService): string {
  const { status = 'Unknown', reason = '' } = findAvailable(service) ?? {};
  return status === 'True' || reason === '' ? status : `${status} (${reason})`;
}
