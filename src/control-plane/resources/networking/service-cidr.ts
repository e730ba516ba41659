import { serviceCidrs } from '../../../api/client/resource-types.ts';
import type { ServiceCIDR } from '../../../api/networking/service-cidr.ts';
import { ServiceCIDRSchema } from '../../../api/networking/service-cidr.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  validateServiceCidr,
  validateServiceCidrUpdate,
} from '../../../api/validation/network/validate-service-cidr.ts';
import { defineResource } from '../define-resource.ts';
import { keepMetadata } from '../keep-metadata.ts';

export const serviceCidrResource = defineResource<ServiceCIDR>({
  type: serviceCidrs,
  singular: 'servicecidr',
  schema: ServiceCIDRSchema,
  storagePath: 'servicecidrs',
  rules: {
    applyDefaults: (cidr) => cidr,
    prepareForCreate: (cidr) => ({ ...cidr, status: {} }),
    validate: validateServiceCidr,
    validateName: checkDnsSubdomain,
    validateUpdate: validateServiceCidrUpdate,
    prepareForStatusUpdate: keepMetadata,
  },
  hasStatus: true,
  resetFields: { status: ['metadata', 'spec'] },
  columns: [
    {
      name: 'CIDRs',
      type: 'string',
      description: 'Its ranges.',
      cell: ({ spec }) => (spec.cidrs ?? []).join(','),
    },
  ],
});
