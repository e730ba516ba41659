/** A volume that is ready on the host for one pod. */
export interface MountedVolume {
  /** Name in pod.spec.volumes. */
  readonly name: string;
  /**
   * Absolute path on the host that a container's mount binds; for mode Block the device, or a link to it. '' for an
   * image volume, which the runtime mounts.
   */
  readonly hostPath: string;
  /** The volume is read-only (secret, configMap, ...), whatever the mount says. */
  readonly readOnly: boolean;
  /** SELinux may relabel this kind of volume. */
  readonly selinuxRelabel: boolean;
  /** A raw device: containers get it by `volumeDevices`, never by `volumeMounts`. */
  readonly device?: boolean;
  /** Groups that processes of the pod need to use it (annotation `pv.beta.kubernetes.io/gid`). */
  readonly extraGroups?: readonly number[];
}

/** All volumes of a pod by name. A volume that is absent is not ready. */
export type PodVolumes = ReadonlyMap<string, MountedVolume>;
