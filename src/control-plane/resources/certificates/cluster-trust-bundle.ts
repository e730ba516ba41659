import type { ClusterTrustBundle } from '../../../api/certificates/cluster-trust-bundle.ts';
import { ClusterTrustBundleSchema } from '../../../api/certificates/cluster-trust-bundle.ts';
import { clusterTrustBundles } from '../../../api/client/resource-types.ts';
import {
  validateClusterTrustBundle,
  validateClusterTrustBundleUpdate,
} from '../../../api/validation/access/validate-cluster-trust-bundle.ts';
import { checkPathSegment } from '../../../api/validation/names.ts';
import { defineResource } from '../define-resource.ts';

export const clusterTrustBundleResource = defineResource<ClusterTrustBundle>({
  type: clusterTrustBundles,
  gate: 'ClusterTrustBundle',
  singular: 'clustertrustbundle',
  schema: ClusterTrustBundleSchema,
  storagePath: 'clustertrustbundles',
  rules: {
    applyDefaults: (bundle) => bundle,
    validate: validateClusterTrustBundle,
    // Which names are valid depends on the signer, so `validate` checks them.
    validateName: checkPathSegment,
    validateUpdate: validateClusterTrustBundleUpdate,
    requiresResourceVersion: true,
  },
  selectableFields: ({ spec }) => ({ 'spec.signerName': spec.signerName ?? '' }),
  hasNoAge: true,
  columns: [
    {
      name: 'SignerName',
      type: 'string',
      description: 'Whose certificates they are.',
      cell: ({ spec }) => spec.signerName || '<none>',
    },
  ],
});
