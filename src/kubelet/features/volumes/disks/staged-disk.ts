import { folderPrefix } from '../../../../base/folder-path.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import { KubeletError } from '../../../../base/errors.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { Mounts } from '../../../ports/mounts.ts';
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
import type { DiskMounter } from './disk-mounter.ts';
import { DEFAULT_FS_TYPE } from './disk-mounter.ts';
import { readStaged, writeStaged } from './staged-note.ts';
import { bindIntoPod, isMounted, linkDevice } from '../kinds/pod-mounts.ts';

const FOLDER_MODE = 0o750;

/** The source of a disk: the part that differs between kinds of network disks. */
export interface DiskSource {
  /** The name of the plugin, for example `kubernetes.io/iscsi`. */
  readonly name: string;
  /**
   * Returns the disk of this kind in the volume, inline or claimed, or undefined if it is of another kind. No fsType,
   * or '', means the default.
   */
  sourceOf(spec: VolumeSpec): { fsType?: string } | undefined;
  /**
   * Describes the disk. `id` identifies it, `folder` is its place below the plugin's (with upstream's name), `context`
   * is all that `detach` needs. It never contains a secret.
   */
  describe(spec: VolumeSpec): { id: string; folder: string; context: Readonly<Record<string, string>> };
  /** Attaches the disk and resolves to its device. It may be repeated. */
  attach(spec: VolumeSpec, pod: Pod): Promise<string>;
  /** Detaches the disk. A missing disk is success. `others` are disks of this kind that are still in use. */
  detach(context: Readonly<Record<string, string>>, others: readonly StagedVolume[]): Promise<void>;
}

export interface StagedDiskParts {
  readonly rootDir: string;
  readonly files: HostFiles;
  readonly mounts: Mounts;
  readonly disks: DiskMounter;
}

/**
 * Network disks that are attached and mounted once per node and bind-mounted for each pod. Two notes record them for a
 * later agent: one next to the shared mount, written before the disk is attached, and one in the pod's folder, which
 * names the disk that the pod uses.
 */
export class StagedDiskPlugin implements VolumePlugin, VolumeStaging {
  readonly name: string;
  readonly block = true;
  readonly staging = this;
  readonly #parts: StagedDiskParts;
  readonly #source: DiskSource;
  readonly #root: string;

  constructor(parts: StagedDiskParts, source: DiskSource) {
    this.#parts = parts;
    this.#source = source;
    this.name = source.name;
    this.#root = folderPrefix(parts.rootDir);
  }

  supports(spec: VolumeSpec): boolean {
    return this.#source.sourceOf(spec) !== undefined;
  }

  /** Returns who attaches: the node itself logs in, and the control plane only records which node has the disk. */
  attaches(): 'byAnyone' {
    return 'byAnyone';
  }

  plan(spec: VolumeSpec): StagedVolume {
    const { id, folder, context } = this.#source.describe(spec);
    // Portals, target names and disk ids come from the pod's author: none may lead to another path, or be parsed as an
    // option.
    for (const part of folder.split('/'))
      if (part === '' || part === '.' || part === '..' || part.startsWith('-') || /\s/.test(part))
        throw new KubeletError('Invalid', `${this.name}: ${JSON.stringify(id)} is not a valid name of a disk`);
    const at = `${this.#folder}/${spec.mode === 'Block' ? 'volumeDevices/' : ''}${folder}`;
    return { key: `${this.name}/${id}`, path: spec.mode === 'Block' ? '' : at, context: { ...context, at } };
  }

  async stage({ pod, spec, planned }: { pod: Pod; spec: VolumeSpec; planned: StagedVolume }): Promise<StagedVolume> {
    const { files, mounts, disks } = this.#parts;
    const at = atOf(planned);
    await files.makeDirectory(at.slice(0, at.lastIndexOf('/')), FOLDER_MODE);
    await writeStaged(files, `${at}.json`, planned);
    const device = await this.#source.attach(spec, pod);
    const staged = { ...planned, path: spec.mode === 'Block' ? device : at, context: { ...planned.context, device } };
    await writeStaged(files, `${at}.json`, staged);
    if (spec.mode === 'Filesystem' && !(await isMounted(mounts, at))) {
      await files.makeDirectory(at, FOLDER_MODE);
      await disks.mount(device, at, {
        fsType: this.#source.sourceOf(spec)?.fsType || DEFAULT_FS_TYPE,
        options: [...(spec.readOnly ? ['ro'] : []), ...spec.mountOptions],
      });
    }
    return staged;
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const { pod, spec, path, staged } = request;
    const { files } = this.#parts;
    const source = staged?.path ?? '';
    if (staged !== undefined) await this.#noteOfPod({ podUid: pod.metadata.uid, specName: spec.name }, staged);
    if (spec.mode === 'Block') return linkDevice(files, source, request);
    await bindIntoPod(this.#parts, source, request);
    const ready = { hostPath: path, readOnly: spec.readOnly, selinuxRelabel: true };
    return spec.readOnly ? ready : { ...ready, ownership: 'apply' };
  }

  async unstage(staged: StagedVolume): Promise<void> {
    const { files, mounts } = this.#parts;
    const at = atOf(staged);
    if (at === '') return;
    await mounts.unmount(at);
    await files.removeTree(at);
    const others = (await this.findStaged()).filter(({ key }) => key !== staged.key);
    await this.#source.detach(staged.context ?? {}, others);
    await files.remove(`${at}.json`);
  }

  async identify({ podUid, specName }: VolumeOnDisk): Promise<StagedVolume | undefined> {
    return readStaged(this.#parts.files, this.#podNotePath({ podUid, specName }));
  }

  async findStaged(): Promise<StagedVolume[]> {
    const found: StagedVolume[] = [];
    const look = async (folder: string, depth: number): Promise<void> => {
      for (const name of await this.#parts.files.list(folder)) {
        if (name.endsWith('.json')) {
          const staged = await readStaged(this.#parts.files, `${folder}/${name}`);
          if (staged !== undefined) found.push(staged);
        } else if (depth > 0 && /^(iface-|volumeDevices$)/.test(name)) await look(`${folder}/${name}`, depth - 1);
      }
    };
    await look(this.#folder, 2);
    return found;
  }

  get #folder(): string {
    return `${this.#root}/plugins/${this.name}`;
  }

  #podNotePath({ podUid, specName }: { podUid: string; specName: string }): string {
    return `${this.#root}/pods/${podUid}/plugins/${pluginFolder(this.name)}/${specName}/staged.json`;
  }

  async #noteOfPod(volume: { podUid: string; specName: string }, staged: StagedVolume): Promise<void> {
    const path = this.#podNotePath(volume);
    await this.#parts.files.makeDirectory(path.slice(0, path.lastIndexOf('/')), FOLDER_MODE);
    await writeStaged(this.#parts.files, path, staged);
  }
}

const atOf = ({ context }: StagedVolume): string => context?.['at'] ?? '';
