import { describe } from '../schema/docs.ts';
import type { TypeDocs } from '../schema/docs.ts';
import { ClusterTrustBundleSchema, ClusterTrustBundleSpecSchema } from './cluster-trust-bundle.ts';

export const docs: readonly TypeDocs[] = [
  describe(ClusterTrustBundleSpecSchema, 'The certificates of a ClusterTrustBundle, and who issues by them.', {
    signerName:
      'The signer that the certificates belong to. To write it takes the right to `attest` for the signer. The name of the object then begins with it, with colons for slashes: example.com:signer:v1. It cannot be changed.',
    trustBundle:
      'Certificates of authorities in PEM, at most 1 MiB: at least one, each once, without headers. Readers may reorder them.',
  }),
  describe(
    ClusterTrustBundleSchema,
    'Certificates of authorities that pods trust. Pods mount them with a projected volume; every service account can read them.',
    {},
  ),
];
