import type { VolumePlugin, VolumeReady, VolumeSpec } from '../../../ports/volume-plugin.ts';

/**
 * An image shown as files. The runtime mounts it with the container; pulling it belongs to starting containers, not to
 * volumes.
 */
export class ImageVolumePlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/image';
  readonly ownFolder = false;
  readonly mountOptions = false;

  supports(spec: VolumeSpec): boolean {
    return spec.kind === 'inline' && spec.volume.image !== undefined;
  }

  async setUp(): Promise<VolumeReady> {
    return { hostPath: '', readOnly: true, selinuxRelabel: false };
  }
}
