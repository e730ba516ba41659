import { leases } from '../../../api/client/resource-types.ts';
import type { Lease } from '../../../api/coordination/lease.ts';
import { LeaseSchema } from '../../../api/coordination/lease.ts';
import { checkDnsSubdomain } from '../../../api/validation/names.ts';
import { validateLease } from '../../../api/validation/validate-lease.ts';
import { defineResource } from '../define-resource.ts';

/**
 * Drops new values of the fields of coordinated leader election, whose gate is off (upstream:
 * CoordinatedLeaderElection). Existing values are kept.
 */
function withoutCoordination(lease: Lease, old?: Lease): Lease {
  const { strategy, preferredHolder, ...spec } = lease.spec;
  if (strategy === undefined && preferredHolder === undefined) return lease;
  return {
    ...lease,
    spec: {
      ...spec,
      ...(strategy !== undefined && old?.spec.strategy !== undefined && { strategy }),
      ...(preferredHolder !== undefined && old?.spec.preferredHolder !== undefined && { preferredHolder }),
    },
  };
}

export const leaseResource = defineResource<Lease>({
  type: leases,
  singular: 'lease',
  schema: LeaseSchema,
  storagePath: 'leases',
  unhurried: true,
  rules: {
    applyDefaults: (lease) => lease,
    prepareForCreate: (lease) => withoutCoordination(lease),
    validate: validateLease,
    validateName: checkDnsSubdomain,
    anyFinalizer: true,
    prepareForUpdate: withoutCoordination,
    validateUpdate: validateLease,
    allowCreateOnUpdate: true,
    requiresResourceVersion: true,
  },
  columns: [
    { name: 'Holder', type: 'string', description: 'Who has it.', cell: ({ spec }) => spec.holderIdentity ?? '' },
  ],
});
