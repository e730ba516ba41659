/** The provisioner's name in StorageClasses, and in the annotation of the volumes it has made. */
export const PROVISIONER = 'node-disk.kubelet-ts';

/** The name of a claim's volume, as external provisioners give it. */
export const volumeNameOf = (claimUid: string): string => `pvc-${claimUid}`;

/**
 * Whether a volume's name may be the name of a directory that is removed as a whole: nothing in it leads elsewhere. A
 * claim's uid is chosen by the API server; the name of a volume by any user who may create volumes.
 */
export const isVolumeName = (name: string): boolean => /^pvc-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(name);
