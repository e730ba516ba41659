/** What the first objects of a cluster say of it. */
export interface ClusterFacts {
  /** Where clients of the cluster reach the API server. */
  readonly advertiseAddress: string;
  readonly securePort: number;
  /** Of all API servers of the cluster that are alive. They serve on the same port. */
  readonly serverAddresses: readonly string[];
  /** The first address of the service range. */
  readonly serviceIp: string;
  /** PEM of the CA that signs client certificates. */
  readonly authority: string;
  /** How servers behind this one authenticate clients as it does. */
  readonly authenticationConfig: Readonly<Record<string, string>>;
  readonly serviceCidrs: readonly string[];
  /** `v1.36.0` */
  readonly version: string;
}
