import type { Volume } from '../../../api/core/volume.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { MountedVolume } from '../../model/pod-volumes.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { Tmpfs } from './tmpfs.ts';
import { belongsToGroup, fsGroupOf, giveToGroup } from './volume-ownership.ts';
import type { VolumePlugin, VolumeRequest } from './volume-plugin.ts';

const EVERYBODY = 0o777;

/** A directory that lives as long as the pod, on disk or in memory. sizeLimit bounds a tmpfs here; on disk eviction enforces it. */
export class EmptyDirPlugin implements VolumePlugin {
  readonly folder = 'kubernetes.io~empty-dir';
  readonly #files: HostFiles;
  readonly #tmpfs: Tmpfs;

  constructor(files: HostFiles, tmpfs: Tmpfs) {
    this.#files = files;
    this.#tmpfs = tmpfs;
  }

  supports(volume: Volume): boolean {
    return volume.emptyDir !== undefined;
  }

  objectsOf(): readonly [] {
    return [];
  }

  followsPod(): boolean {
    return false;
  }

  async setUp({ pod, volume, path, mounted }: VolumeRequest): Promise<MountedVolume> {
    const medium = volume.emptyDir?.medium ?? '';
    if (medium.startsWith('HugePages')) throw new KubeletError('Unimplemented', `emptyDir of medium ${medium} is not yet honoured`);
    if (medium !== '' && medium !== 'Memory') throw new KubeletError('Invalid', `unknown storage medium "${medium}"`);
    await this.#files.makeDirectory(path, EVERYBODY);
    if (medium === 'Memory') await this.#tmpfs.ensure(pod, path, { sizeLimit: volume.emptyDir?.sizeLimit, mounted });
    const gid = fsGroupOf(pod);
    const group = gid === undefined ? undefined : { gid, readOnly: false };
    if (group !== undefined && !(await belongsToGroup(this.#files, path, group))) await giveToGroup(this.#files, path, group);
    return { name: volume.name, hostPath: path, readOnly: false, selinuxRelabel: true };
  }
}
