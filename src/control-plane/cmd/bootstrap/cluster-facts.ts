/** Facts about the cluster for its bootstrap objects. */
export interface ClusterFacts {
  /** The address of the API server for clients of the cluster. */
  readonly advertiseAddress: string;
  readonly securePort: number;
  /** The addresses of all running API servers of the cluster. They use the same port. */
  readonly serverAddresses: readonly string[];
  /** The first address of the service range. */
  readonly serviceIp: string;
  /** The CA that signs client certificates, in PEM. */
  readonly authority: string;
  /** The authentication settings that aggregated servers need. */
  readonly authenticationConfig: Readonly<Record<string, string>>;
  readonly serviceCidrs: readonly string[];
  /** For example `v1.36.0`. */
  readonly version: string;
}
