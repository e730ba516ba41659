import { services } from '../../../api/client/resource-types.ts';
import type { Service, ServicePort } from '../../../api/core/service.ts';
import { ServiceSchema } from '../../../api/core/service.ts';
import { defaultService, withClusterIps } from '../../../api/defaults/default-service.ts';
import { checkDnsLabel } from '../../../api/validation/names.ts';
import {
  validateServiceStatusUpdate,
  validateServiceUpdate,
} from '../../../api/validation/network/validate-service-update.ts';
import { validateService } from '../../../api/validation/network/validate-service.ts';
import { objectWarnings } from '../../../api/validation/object-warnings.ts';
import { warningText } from '../../../api/validation/pod/pod-warnings.ts';
import { defineResource } from '../define-resource.ts';
import { ageColumn, balancerAddresses, formatLabels } from '../print-cells.ts';
import { proxyVerbs } from './pod.ts';
import { allocateService, deallocateService } from './service/service-allocation.ts';
import { prepareServiceUpdate } from './service/service-rules.ts';

function externalIps({ spec, status }: Service): string {
  const external = spec.externalIPs ?? [];
  switch (spec.type) {
    case 'ClusterIP':
    case 'NodePort':
      return external.join(',') || '<none>';
    case 'LoadBalancer':
      return [...balancerAddresses(status?.loadBalancer?.ingress ?? []), ...external].join(',') || '<pending>';
    case 'ExternalName':
      return spec.externalName ?? '';
    default:
      return '<unknown>';
  }
}

const portCell = ({ port, nodePort, protocol }: ServicePort): string =>
  `${port}${nodePort ? `:${nodePort}` : ''}/${protocol ?? ''}`;

export const serviceResource = defineResource<Service>({
  type: services,
  singular: 'service',
  shortNames: ['svc'],
  categories: ['all'],
  schema: ServiceSchema,
  storagePath: 'services/specs',
  rules: {
    applyDefaults: defaultService,
    prepareForCreate: (service) => ({ ...withClusterIps(service), status: { loadBalancer: {} } }),
    validate: validateService,
    validateName: checkDnsLabel,
    prepareForUpdate: prepareServiceUpdate,
    validateUpdate: validateServiceUpdate,
    allowCreateOnUpdate: true,
    prepareForStatusUpdate: (service) => {
      const ingress = service.status?.loadBalancer?.ingress?.map((each) =>
        each.ip && each.ipMode === undefined ? { ...each, ipMode: 'VIP' } : each,
      );
      return ingress === undefined
        ? service
        : { ...service, status: { ...service.status, loadBalancer: { ...service.status?.loadBalancer, ingress } } };
    },
    validateStatusUpdate: validateServiceStatusUpdate,
    warnings: (object) => objectWarnings({ kind: 'Service', object }).map(warningText),
    returnsDeleted: true,
  },
  selectableFields: ({ spec }) => ({ 'spec.clusterIP': spec.clusterIP ?? '', 'spec.type': spec.type ?? '' }),
  columns: [
    { name: 'Type', type: 'string', description: 'How it is reached.', cell: ({ spec }) => spec.type ?? '' },
    {
      name: 'Cluster-IP',
      type: 'string',
      description: 'Its first address in the cluster.',
      cell: ({ spec }) => spec.clusterIPs?.[0] ?? '<none>',
    },
    { name: 'External-IP', type: 'string', description: 'Its addresses outside.', cell: externalIps },
    {
      name: 'Port(s)',
      type: 'string',
      description: 'Its ports, with those of the nodes.',
      cell: ({ spec }) => (spec.ports ?? []).map(portCell).join(',') || '<none>',
    },
    ageColumn,
    {
      name: 'Selector',
      type: 'string',
      priority: 1,
      description: 'Which pods are behind it.',
      cell: ({ spec }) => formatLabels(spec.selector),
    },
  ],
  hasStatus: true,
  connects: [{ name: 'proxy', verbs: proxyVerbs, kind: 'ServiceProxyOptions' }],
  allocate: allocateService,
  deallocate: deallocateService,
});
