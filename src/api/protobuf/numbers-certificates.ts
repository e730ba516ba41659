/** Field numbers of certificates, v1: see `field-numbers.ts` for how to read them. */
export const certificatesNumbers = {
  CertificateSigningRequest: 'metadata:1 spec:2 status:3',
  CertificateSigningRequestCondition: 'type:1 status:6 reason:2 message:3 lastUpdateTime:4 lastTransitionTime:5',
  CertificateSigningRequestSpec:
    'request:1 signerName:7 expirationSeconds:8? usages:5 username:2 uid:3 groups:4 extra:6',
  CertificateSigningRequestStatus: 'conditions:1 certificate:2',
} as const;
