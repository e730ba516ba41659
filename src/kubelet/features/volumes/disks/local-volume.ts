import { folderPrefix } from '../../../../base/folder-path.ts';
import type { LocalVolumeSource } from '../../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { volumeEvents } from '../../../../api/reasons.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { Mounts } from '../../../ports/mounts.ts';
import type { EventRecorder } from '../../../ports/recorder.ts';
import type {
  StagedVolume,
  VolumeOnDisk,
  VolumePlugin,
  VolumeReady,
  VolumeRequest,
  VolumeSpec,
  VolumeStaging,
} from '../../../ports/volume-plugin.ts';
import { pluginFolder } from '../../../ports/volume-plugin.ts';
import { failureText, SetUpFailed } from '../set-up-volume.ts';
import type { DiskMounter } from './disk-mounter.ts';
import { DEFAULT_FS_TYPE } from './disk-mounter.ts';
import { bindIntoPod, isMounted, linkDevice } from '../kinds/pod-mounts.ts';

const NAME = 'kubernetes.io/local-volume';
const MOUNT_FOLDER_MODE = 0o750;

export interface LocalVolumeParts {
  readonly rootDir: string;
  readonly files: HostFiles;
  /** Accesses the volume's own path, which may hang. */
  readonly guardedFiles: HostFiles;
  readonly mounts: Mounts;
  readonly disks: DiskMounter;
  readonly recorder: EventRecorder;
}

function sourceOf(spec: VolumeSpec): LocalVolumeSource | undefined {
  return spec.kind === 'persistent' ? spec.persistentVolume.spec.local : undefined;
}

/** Builds upstream's error for a volume that it cannot mount. */
function noMounter({ name }: VolumeSpec, why: string): SetUpFailed {
  return new SetUpFailed(
    volumeEvents.failedMount,
    failureText('MountVolume.NewMounter initialization failed', name, why),
  );
}

/**
 * A folder or a disk of this node as a PersistentVolume. A disk used as a file system is mounted once, and formatted if
 * it is empty.
 */
export class LocalVolumePlugin implements VolumePlugin, VolumeStaging {
  readonly name = NAME;
  readonly block = true;
  readonly staging = this;
  readonly #parts: LocalVolumeParts;
  readonly #mountsFolder: string;

  constructor(parts: LocalVolumeParts) {
    this.#parts = parts;
    this.#mountsFolder = `${folderPrefix(parts.rootDir)}/plugins/${NAME}/mounts`;
  }

  supports(spec: VolumeSpec): boolean {
    return sourceOf(spec) !== undefined;
  }

  plan({ name }: VolumeSpec): StagedVolume {
    return this.#stagedAs(name);
  }

  async stage({ spec, planned }: { pod: Pod; spec: VolumeSpec; planned: StagedVolume }): Promise<StagedVolume> {
    const { path, fsType } = sourceOf(spec) ?? { path: '' };
    if (path.split('/').includes('..'))
      throw new KubeletError('Invalid', `invalid path: ${path} must not contain '..'`);
    const type = (await this.#parts.guardedFiles.stat(path))?.type;
    if (spec.mode === 'Block') {
      if (type === undefined) throw new KubeletError('NotFound', `path "${path}" does not exist`);
      if (type !== 'block')
        throw new KubeletError('Invalid', `path "${path}" is not a block device, as volumeMode Block needs`);
      return { ...planned, path };
    }
    if (type === 'directory') return { ...planned, path };
    if (type === undefined) throw noMounter(spec, `path "${path}" does not exist`);
    if (type !== 'block') throw noMounter(spec, 'only directory and block device are supported');
    await this.#mountDisk(path, planned.path, {
      fsType: fsType ?? DEFAULT_FS_TYPE,
      options: [...(spec.readOnly ? ['ro'] : []), ...spec.mountOptions],
    });
    return planned;
  }

  async #mountDisk(device: string, target: string, how: { fsType: string; options: readonly string[] }): Promise<void> {
    const { files, mounts, disks } = this.#parts;
    if (await isMounted(mounts, target)) return;
    await files.makeDirectory(target, MOUNT_FOLDER_MODE);
    try {
      await disks.mount(device, target, how);
    } catch (error) {
      await files.remove(target);
      const why = error instanceof Error ? error.message : String(error);
      throw new KubeletError(
        'Unavailable',
        `local: failed to mount device ${device} at ${target} (fstype: ${how.fsType}), error ${why}`,
        { cause: error },
      );
    }
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const { pod, spec, path, staged, again, fsGroup } = request;
    const source = staged?.path ?? '';
    if (spec.mode === 'Block') return linkDevice(this.#parts.files, source, request);
    const shared = !again && fsGroup !== undefined && (await this.#isUsedByOthers(pod.metadata.uid, spec.name));
    await bindIntoPod(this.#parts, source, request);
    const ready = { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: true };
    if (!shared) return spec.readOnly ? ready : { ...ready, ownership: 'apply' };
    await this.#warnOfOtherGroup(pod, { path: source, name: spec.name, fsGroup });
    return ready;
  }

  /** Records a warning for another group. The group of the first pod stays (upstream: local.go). */
  async #warnOfOtherGroup(
    pod: Pod,
    { path, name, fsGroup }: { path: string; name: string; fsGroup: number },
  ): Promise<void> {
    const gid = (await this.#parts.guardedFiles.stat(path))?.gid;
    if (gid === undefined || gid === fsGroup) return;
    this.#parts.recorder.event(
      pod,
      'Warning',
      volumeEvents.alreadyMountedVolume,
      `The requested fsGroup is ${fsGroup}, but the volume ${name} has GID ${gid}. The volume may not be shareable.`,
    );
  }

  async #isUsedByOthers(podUid: string, specName: string): Promise<boolean> {
    const { files, rootDir } = this.#parts;
    const pods = `${folderPrefix(rootDir)}/pods`;
    for (const uid of await files.list(pods))
      if (uid !== podUid && (await files.list(`${pods}/${uid}/volumes/${pluginFolder(NAME)}`)).includes(specName))
        return true;
    return false;
  }

  async unstage({ path }: StagedVolume): Promise<void> {
    if (!path.startsWith(`${this.#mountsFolder}/`)) return;
    await this.#parts.mounts.unmount(path);
    await this.#parts.files.removeTree(path);
  }

  async identify({ specName }: VolumeOnDisk): Promise<StagedVolume> {
    return this.#stagedAs(specName);
  }

  async findStaged(): Promise<StagedVolume[]> {
    return (await this.#parts.files.list(this.#mountsFolder)).map((specName) => this.#stagedAs(specName));
  }

  #stagedAs(specName: string): StagedVolume {
    return { key: `${NAME}/${specName}`, path: `${this.#mountsFolder}/${specName}` };
  }
}
