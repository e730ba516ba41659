/** A volume that is ready on the host for one pod. */
export interface MountedVolume {
  /** The name in pod.spec.volumes. */
  readonly name: string;
  /**
   * The absolute path on the host that a container's mount binds. For mode Block it is the device, or a link to it. It
   * is '' for an image volume, which the runtime mounts.
   */
  readonly hostPath: string;
  /** Whether the volume is read-only (secret, configMap, ...), even if the mount is not. */
  readonly readOnly: boolean;
  /** Whether SELinux may relabel this kind of volume. */
  readonly selinuxRelabel: boolean;
  /** Whether the volume is a raw device, which containers use by `volumeDevices` and not by `volumeMounts`. */
  readonly device?: boolean;
  /** Groups that processes of the pod need in order to use the volume (annotation `pv.beta.kubernetes.io/gid`). */
  readonly extraGroups?: readonly number[];
}

/** All volumes of a pod by name. A missing volume is not ready. */
export type PodVolumes = ReadonlyMap<string, MountedVolume>;
