/** A volume made ready on the host for one pod. */
export interface MountedVolume {
  /** Name in pod.spec.volumes. */
  name: string;
  /** Absolute path on the host that a container's mount binds. */
  hostPath: string;
  /** The volume itself refuses writes (secret, configMap, ...), whatever the mount says. */
  readOnly: boolean;
  /** The kind may be relabelled by SELinux. */
  selinuxRelabel: boolean;
}

/** All volumes of a pod by name. A volume that is absent is not ready. */
export type PodVolumes = ReadonlyMap<string, MountedVolume>;
