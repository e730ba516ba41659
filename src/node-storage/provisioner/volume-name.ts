/** The provisioner's name in StorageClasses, and in the annotation of the volumes it has made. */
export const PROVISIONER = 'node-disk.kubelet-ts';

/** The name of the PersistentVolume for a claim, as external provisioners choose it. */
export const volumeNameOf = (claimUid: string): string => `pvc-${claimUid}`;

/**
 * Whether a volume's name may be used as the name of a directory that is removed recursively: it must not lead out of
 * the root. The API server chooses the uid of a claim, but any user who may create volumes chooses a volume's name.
 */
export const isVolumeName = (name: string): boolean => /^pvc-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name);
