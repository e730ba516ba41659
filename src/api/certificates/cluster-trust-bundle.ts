/** ClusterTrustBundle of certificates.k8s.io/v1beta1. The fields follow k8s.io/api/certificates/v1beta1. */
import { field, filled, object, required, string } from '../schema/schema.ts';
import type { Infer } from '../schema/schema.ts';
import { ObjectMetaSchema } from '../core/meta.ts';

export const ClusterTrustBundleSpecSchema = object('ClusterTrustBundleSpec', {
  signerName: field(1, string),
  /** Certificates in PEM. */
  trustBundle: required(2, string),
});
export type ClusterTrustBundleSpec = Infer<typeof ClusterTrustBundleSpecSchema>;

/** Cluster-scoped. */
export const ClusterTrustBundleSchema = object('ClusterTrustBundle', {
  kind: string,
  apiVersion: string,
  metadata: filled(1, ObjectMetaSchema),
  spec: required(2, ClusterTrustBundleSpecSchema),
});
export type ClusterTrustBundle = Infer<typeof ClusterTrustBundleSchema>;
