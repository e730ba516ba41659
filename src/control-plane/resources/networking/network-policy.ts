import { networkPolicies } from '../../../api/client/resource-types.ts';
import { defaultNetworkPolicy } from '../../../api/defaults/default-networking.ts';
import type { NetworkPolicy } from '../../../api/networking/network-policy.ts';
import { NetworkPolicySchema } from '../../../api/networking/network-policy.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import {
  networkPolicyWarnings,
  validateNetworkPolicy,
  validateNetworkPolicyUpdate,
} from '../../../api/validation/network/validate-network-policy.ts';
import { defineResource } from '../define-resource.ts';
import { formatSelector } from '../print-cells.ts';

export const networkPolicyResource = defineResource<NetworkPolicy>({
  type: networkPolicies,
  singular: 'networkpolicy',
  shortNames: ['netpol'],
  schema: NetworkPolicySchema,
  storagePath: 'networkpolicies',
  rules: {
    applyDefaults: defaultNetworkPolicy,
    validate: validateNetworkPolicy,
    validateName: checkDnsSubdomain,
    validateUpdate: validateNetworkPolicyUpdate,
    warnings: networkPolicyWarnings,
  },
  countsGeneration: true,
  columns: [
    {
      name: 'Pod-Selector',
      type: 'string',
      description: 'The pods that it is for.',
      cell: ({ spec }) => formatSelector(spec.podSelector),
    },
  ],
});
