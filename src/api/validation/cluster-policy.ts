/** What the operator of a cluster decides about the objects in it. */
export interface ClusterPolicy {
  /** Containers may be privileged (upstream: `--allow-privileged`). */
  readonly allowPrivileged: boolean;
}

/** The default, and what a node applies to its own manifests (upstream: the kubelet's RunKubelet). */
export const permissivePolicy: ClusterPolicy = { allowPrivileged: true };
