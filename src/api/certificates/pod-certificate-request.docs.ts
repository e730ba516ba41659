import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import {
  PodCertificateRequestSchema,
  PodCertificateRequestSpecSchema,
  PodCertificateRequestStatusSchema,
} from './pod-certificate-request.ts';

export const docs: readonly TypeDocs[] = [
  describe(PodCertificateRequestSpecSchema, 'What is requested, and for which pod. It cannot be changed.', {
    signerName: 'The signer that issues the certificate, such as example.com/signer.',
    podName: 'The pod that the certificate is for.',
    podUID: 'The UID of the pod.',
    serviceAccountName: 'The service account that the pod runs as.',
    serviceAccountUID: 'The UID of the service account.',
    nodeName: 'The node that the pod runs on.',
    nodeUID: 'The UID of the node.',
    maxExpirationSeconds:
      'The longest lifetime of the certificate: 3600 (an hour) to 7862400 (91 days), for kubernetes.io signers 86400. Default 86400 (a day). The signer may issue one that ends earlier, after an hour at least.',
    pkixPublicKey: 'Deprecated, see stubPKCS10Request: the public key in PKIX form, in DER.',
    proofOfPossession: 'Deprecated, see stubPKCS10Request: the UID of the pod, signed with the private key.',
    stubPKCS10Request:
      'A certificate request (PKCS #10, DER) signed with the private key, of which signers read the public key: RSA with 3072 or 4096 bits, ECDSA on P-256, P-384 or P-521, or Ed25519. The node agent leaves the rest of it empty.',
    unverifiedUserAnnotations: 'Unverified annotations from the author of the pod for the signer. Keys have a domain.',
  }),
  describe(PodCertificateRequestStatusSchema, 'The result from the signer. It cannot be changed once it is written.', {
    conditions:
      'At most one of Issued, Denied and Failed, with the status True. A signer that cannot use the type of the key denies with the reason UnsupportedKeyType.',
    certificateChain: 'The certificate chain in PEM. The first certificate is for the requested public key.',
    notBefore:
      'When the certificate becomes valid. Must equal the time in the certificate and be within five minutes of now.',
    beginRefreshAt:
      'When the node agent requests the next certificate: at least ten minutes after notBefore and ten before notAfter.',
    notAfter: 'When the certificate expires. Must equal the time in the certificate.',
  }),
  describe(
    PodCertificateRequestSchema,
    'A request for a certificate of a pod. Node agents create it for projected volumes with a podCertificate source; signers answer in the status.',
    {},
  ),
];
