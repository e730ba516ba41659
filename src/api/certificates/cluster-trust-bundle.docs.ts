import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ClusterTrustBundleSchema, ClusterTrustBundleSpecSchema } from './cluster-trust-bundle.ts';

export const docs: readonly TypeDocs[] = [
  describe(ClusterTrustBundleSpecSchema, 'The certificates of a ClusterTrustBundle, and their signer.', {
    signerName:
      'The signer that the certificates belong to. Writing it requires the verb `attest` on the signer. The name of the object then begins with it, with colons for slashes: example.com:signer:v1. It cannot be changed.',
    trustBundle:
      'CA certificates in PEM, at most 1 MiB: at least one, without duplicates and headers. Consumers may reorder them.',
  }),
  describe(
    ClusterTrustBundleSchema,
    'CA certificates that pods trust. Pods mount them with a projected volume; every service account can read them.',
    {},
  ),
];
