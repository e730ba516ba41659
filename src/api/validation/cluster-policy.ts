/** Settings of the cluster's operator for objects. */
export interface ClusterPolicy {
  /** Containers may be privileged (upstream: `--allow-privileged`). */
  readonly allowPrivileged: boolean;
}

/** The default, and the policy for manifests of a node (upstream: the kubelet's RunKubelet). */
export const permissivePolicy: ClusterPolicy = { allowPrivileged: true };
