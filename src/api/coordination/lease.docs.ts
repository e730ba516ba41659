import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { LeaseSpecSchema, LeaseSchema } from './lease.ts';

export const docs: readonly TypeDocs[] = [
  describe(LeaseSpecSchema, 'The holder of the lease and its times.', {
    holderIdentity: 'The identity of the holder. Empty: the lease is free.',
    leaseDurationSeconds: 'How long the lease is valid after renewTime, in seconds.',
    acquireTime: 'When the holder acquired the lease.',
    renewTime: 'When the holder last renewed the lease.',
    leaseTransitions: 'How often the holder changed.',
    strategy: 'How the holder of the lease is elected, with coordinated leader election.',
    preferredHolder: 'The candidate that should take the lease over.',
  }),
  describe(
    LeaseSchema,
    'A lease that one holder has for a limited time. Nodes use one as heartbeat, controllers for leader election.',
    {},
  ),
];
