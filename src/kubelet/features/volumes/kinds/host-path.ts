import { lookupTable } from '../../../../base/lookup.ts';
import type { HostPathVolumeSource } from '../../../../api/core/volume-source.ts';
import { isKind, KubeletError } from '../../../../base/errors.ts';
import type { FileInfo, HostFiles } from '../../../ports/host-files.ts';
import type { VolumePlugin, VolumeReady, VolumeRequest, VolumeSpec } from '../../../ports/volume-plugin.ts';

const WORDS: Readonly<Record<string, readonly [FileInfo['type'], string]>> = lookupTable({
  Directory: ['directory', 'a directory'],
  DirectoryOrCreate: ['directory', 'a directory'],
  File: ['file', 'a file'],
  FileOrCreate: ['file', 'a file'],
  Socket: ['socket', 'a socket file'],
  CharDevice: ['char', 'a character device'],
  BlockDevice: ['block', 'a block device'],
});

function sourceOf(spec: VolumeSpec): HostPathVolumeSource | undefined {
  return spec.kind === 'inline' ? spec.volume.hostPath : spec.persistentVolume.spec.hostPath;
}

/**
 * A path of the host, unchanged. Nothing is cleaned up afterwards. `files` must be able to access dead mounts without
 * hanging.
 */
export class HostPathPlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/host-path';
  readonly ownFolder = false;
  readonly mountOptions = false;
  readonly #files: HostFiles;

  constructor(files: HostFiles) {
    this.#files = files;
  }

  supports(spec: VolumeSpec): boolean {
    return sourceOf(spec) !== undefined;
  }

  async setUp({ spec }: VolumeRequest): Promise<VolumeReady> {
    const { path = '', type = '' } = sourceOf(spec) ?? {};
    if (path.split('/').includes('..'))
      throw new KubeletError('Invalid', `invalid HostPath \`${path}\`: must not contain '..'`);
    if (type !== '') await this.#check(path, type);
    return { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: false };
  }

  async #check(path: string, type: string): Promise<void> {
    const wanted = WORDS[type];
    if (wanted === undefined) throw new KubeletError('Invalid', `${type} is an invalid volume type`);
    const info = await this.#look(path);
    if (info === undefined && type === 'DirectoryOrCreate') return this.#files.makeDirectory(path, 0o755);
    if (info === undefined && type === 'FileOrCreate') return this.#makeFile(path);
    if (info?.type !== wanted[0])
      throw new KubeletError('Invalid', `hostPath type check failed: ${path} is not ${wanted[1]}`);
  }

  async #look(path: string): Promise<FileInfo | undefined> {
    try {
      return await this.#files.stat(path);
    } catch (error) {
      // A dead mount or a broken disk must be reported; any other failure means that the path has the wrong type.
      if (isKind(error, 'Timeout') || isKind(error, 'Unavailable')) throw error;
      return undefined;
    }
  }

  /** Appending nothing creates the file without truncating what another pod created meanwhile. */
  async #makeFile(path: string): Promise<void> {
    await this.#files.appendFile(path, '');
    await this.#files.chmod(path, 0o644);
  }
}
