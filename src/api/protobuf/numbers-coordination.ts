/** Field numbers of coordination, v1: see `field-numbers.ts` for how to read them. */
export const coordinationNumbers = {
  Lease: 'metadata:1 spec:2',
  LeaseSpec:
    'holderIdentity:1? leaseDurationSeconds:2? acquireTime:3?~ renewTime:4?~ leaseTransitions:5? strategy:6? preferredHolder:7?',
} as const;
