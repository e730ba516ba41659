/** Facts about the cluster for its bootstrap objects. */
export interface ClusterFacts {
  /** The address of the API server for clients of the cluster. */
  readonly advertiseAddress: string;
  readonly securePort: number;
  /** Of all API servers of the cluster that are alive. They serve on the same port. */
  readonly serverAddresses: readonly string[];
  /** The first address of the service range. */
  readonly serviceIp: string;
  /** PEM of the CA that signs client certificates. */
  readonly authority: string;
  /** The authentication settings that aggregated servers need. */
  readonly authenticationConfig: Readonly<Record<string, string>>;
  readonly serviceCidrs: readonly string[];
  /** `v1.36.0` */
  readonly version: string;
}
