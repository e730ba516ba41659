import type { NFSVolumeSource } from '../../../../api/core/volume-source-remote.ts';
import { errorMessage, isKind, KubeletError } from '../../../../base/errors.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { Mounts } from '../../../ports/mounts.ts';
import type {
  VolumeOnDisk,
  VolumePlugin,
  VolumeReady,
  VolumeRequest,
  VolumeSpec,
} from '../../../ports/volume-plugin.ts';
import { isMounted } from './pod-mounts.ts';

const FOLDER_MODE = 0o750;

function sourceOf(spec: VolumeSpec): NFSVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.nfs : spec.persistentVolume.spec.nfs;
}

/**
 * An export of an NFS server, mounted for each pod by mount.nfs. The server decides who owns its files: fsGroup does
 * not apply.
 */
export class NfsPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/nfs';
  readonly #files: HostFiles;
  readonly #mounts: Mounts;

  constructor(parts: { files: HostFiles; mounts: Mounts }) {
    this.#files = parts.files;
    this.#mounts = parts.mounts;
  }

  supports(spec: VolumeSpec): boolean {
    return sourceOf(spec) !== undefined;
  }

  async setUp({ spec, path, mounted }: VolumeRequest): Promise<VolumeReady> {
    const ready = { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: false };
    if (mounted ?? (await isMounted(this.#mounts, path))) return ready;
    const { server, path: exported } = sourceOf(spec) ?? { server: '', path: '' };
    await this.#files.makeDirectory(path, FOLDER_MODE);
    const options = [...new Set([...spec.mountOptions, ...(spec.readOnly ? ['ro'] : [])])].sort();
    try {
      await this.#mounts.mount(path, {
        fsType: 'nfs',
        source: `${server.includes(':') && !server.startsWith('[') ? `[${server}]` : server}:${exported}`,
        options,
        helper: true,
      });
    } catch (error) {
      await this.#cleanUp(path);
      if (isKind(error, 'NotFound') && /mount\.nfs is not installed/.test(errorMessage(error)))
        throw new KubeletError(
          'Unavailable',
          `${errorMessage(error)}: it is in the package nfs-common (Debian, Ubuntu) or nfs-utils (Fedora, RHEL, SUSE, Alpine)`,
          { cause: error },
        );
      throw error;
    }
    return ready;
  }

  /**
   * Unmounts the volume. If the server does not respond, a forced unmount follows once the normal one has timed out.
   */
  async tearDown({ path }: VolumeOnDisk): Promise<void> {
    try {
      await this.#mounts.unmount(path);
    } catch (error) {
      if (!isKind(error, 'Timeout')) throw error;
      await this.#mounts.unmount(path, { force: true });
    }
  }

  /** Cleans up after a mount that timed out, because it may have succeeded. */
  async #cleanUp(path: string): Promise<void> {
    if (await isMounted(this.#mounts, path)) await this.#mounts.unmount(path);
    await this.#files.remove(path);
  }
}
