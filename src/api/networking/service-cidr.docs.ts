import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ServiceCIDRSchema, ServiceCIDRSpecSchema, ServiceCIDRStatusSchema } from './service-cidr.ts';

export const docs: readonly TypeDocs[] = [
  describe(ServiceCIDRSpecSchema, 'The ranges of a ServiceCIDR.', {
    cidrs:
      'One range, or one for each IP family, such as 192.168.0.0/24 or 2001:db8::/64. A range cannot change; a second family can be added.',
  }),
  describe(ServiceCIDRStatusSchema, 'The state of a ServiceCIDR.', {
    conditions: 'Conditions: Ready, whether services get addresses from it.',
  }),
  describe(ServiceCIDRSchema, 'Ranges of addresses from which services get their cluster IPs.', {}),
];
