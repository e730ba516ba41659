/** The feature gates of upstream's API server that can be switched here; all are off by default. */
export const controlPlaneGates = ['ClusterTrustBundle', 'PodCertificateRequest', 'StorageVersionMigrator'] as const;
export type ControlPlaneGate = (typeof controlPlaneGates)[number];
