import type { Pod } from '../../../../api/core/pod.ts';
import type { EmptyDirVolumeSource } from '../../../../api/core/volume-source.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { VolumePlugin, VolumeReady, VolumeRequest, VolumeSpec } from '../../../ports/volume-plugin.ts';
import type { HugePages } from './huge-pages.ts';
import type { Tmpfs } from './tmpfs.ts';
import { belongsToGroup, giveToGroup } from '../volume-ownership.ts';

const EVERYBODY = 0o777;

function sourceOf(spec: VolumeSpec): EmptyDirVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.emptyDir : undefined;
}

/**
 * A directory that lives as long as the pod: on disk, in memory, or in huge pages. sizeLimit bounds a tmpfs here; on
 * disk eviction enforces it.
 */
export class EmptyDirPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/empty-dir';
  readonly mountOptions = false;
  readonly #files: HostFiles;
  readonly #tmpfs: Tmpfs;
  readonly #hugePages: HugePages;

  constructor(parts: { files: HostFiles; tmpfs: Tmpfs; hugePages: HugePages }) {
    this.#files = parts.files;
    this.#tmpfs = parts.tmpfs;
    this.#hugePages = parts.hugePages;
  }

  supports(spec: VolumeSpec): boolean {
    return sourceOf(spec) !== undefined;
  }

  async setUp({ pod, spec, path, mounted, fsGroup: gid }: VolumeRequest): Promise<VolumeReady> {
    await this.#files.makeDirectory(path, EVERYBODY);
    await this.#mount(pod, sourceOf(spec), { path, mounted });
    const group = gid === undefined ? undefined : { gid, readOnly: false };
    if (group !== undefined && !(await belongsToGroup(this.#files, path, group)))
      await giveToGroup(this.#files, path, group);
    return { hostPath: path, readOnly: false, selinuxRelabel: true };
  }

  async #mount(
    pod: Pod,
    source: EmptyDirVolumeSource | undefined,
    { path, mounted }: Pick<VolumeRequest, 'path' | 'mounted'>,
  ): Promise<void> {
    const { medium = '', sizeLimit } = source ?? {};
    if (medium === '') return;
    if (medium === 'Memory') await this.#tmpfs.ensure(pod, path, { sizeLimit, mounted });
    else if (medium === 'HugePages' || medium.startsWith('HugePages-'))
      await this.#hugePages.ensure(pod, path, { medium, sizeLimit, mounted });
    else throw new KubeletError('Invalid', `unknown storage medium "${medium}"`);
  }
}
