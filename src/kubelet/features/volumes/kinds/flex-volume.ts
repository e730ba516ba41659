import { folderPrefix } from '../../../../base/folder-path.ts';
import { isKind } from '../../../../base/errors.ts';
import type { ClusterObjects } from '../../../ports/cluster-objects.ts';
import type { HostFiles } from '../../../ports/host-files.ts';
import type { Mounts } from '../../../ports/mounts.ts';
import type { Processes } from '../../../ports/processes.ts';
import type {
  VolumeOnDisk,
  VolumePlugin,
  VolumeReady,
  VolumeRequest,
  VolumeSpec,
} from '../../../ports/volume-plugin.ts';
import type { DiskMounter } from '../disks/disk-mounter.ts';
import { FlexDriver, flexSourceOf } from './flex-driver.ts';
import { FlexStaging } from './flex-staging.ts';
import { bindIntoPod, isMounted } from './pod-mounts.ts';

const FOLDER_MODE = 0o750;
const NOTE_MODE = 0o600;
const NOTE_LIMIT_BYTES = 4096;

export interface FlexVolumeParts {
  readonly rootDir: string;
  /** The folder of the drivers (`volumePluginDir`). */
  readonly driverDir: string;
  readonly files: HostFiles;
  readonly mounts: Mounts;
  readonly processes: Processes;
  readonly objects: ClusterObjects;
  readonly disks: DiskMounter;
  readonly nodeName: () => string;
}

/**
 * Volumes of drivers that are programs (upstream: pkg/volume/flexvolume): `<dir>/<vendor>~<driver>/<driver> init |
 * mount DIR JSON | unmount DIR`, which print JSON. Those that attach a disk first do so in `FlexStaging`.
 */
export class FlexVolumePlugin implements VolumePlugin {
  readonly name = 'kubernetes.io/flexvolume';
  readonly mountOptions = false;
  readonly #parts: FlexVolumeParts;
  readonly #driver: FlexDriver;
  readonly staging: FlexStaging;

  constructor(parts: FlexVolumeParts) {
    const root = folderPrefix(parts.rootDir);
    this.#parts = parts;
    this.#driver = new FlexDriver(parts);
    this.staging = new FlexStaging({
      ...parts,
      driver: this.#driver,
      folder: `${root}/plugins/${this.name}`,
      podNote: ({ podUid, specName }) => this.#podFile(podUid, specName, 'staged.json'),
    });
  }

  supports(spec: VolumeSpec): boolean {
    return flexSourceOf(spec) !== undefined;
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const { pod, spec, path, mounted, staged } = request;
    const { files, mounts } = this.#parts;
    const driver = flexSourceOf(spec)?.driver ?? '';
    const { fsGroup, selinuxRelabel } = await this.#driver.capabilitiesOf(driver);
    if (!(mounted ?? (await isMounted(mounts, path)))) {
      await files.makeDirectory(path, FOLDER_MODE);
      await this.#noteDriver(pod.metadata.uid, spec.name, driver);
      if (staged !== undefined) await this.staging.noteOfPod({ podUid: pod.metadata.uid, specName: spec.name }, staged);
      try {
        await this.#driver.call(driver, ['mount', path, JSON.stringify(await this.#driver.options(request))]);
      } catch (error) {
        // A driver that attaches need not mount for each pod (upstream: mounterDefaults).
        if (staged !== undefined && isKind(error, 'Unimplemented'))
          await bindIntoPod(this.#parts, staged.path, { ...request, mounted: false });
        else {
          await files.remove(path).catch(() => undefined);
          throw error;
        }
      }
    }
    const ready = { hostPath: path, readOnly: spec.readOnly, selinuxRelabel };
    return fsGroup && !spec.readOnly ? { ...ready, ownership: 'apply' } : ready;
  }

  async tearDown({ podUid, specName, path }: VolumeOnDisk): Promise<void> {
    const { files, mounts } = this.#parts;
    if (!(await isMounted(mounts, path))) return;
    const note = this.#notePath(podUid, specName);
    if ((await files.lstat(note)) === undefined) return;
    try {
      await this.#driver.call((await files.readText(note, NOTE_LIMIT_BYTES)).trim(), ['unmount', path]);
    } catch (error) {
      // The volume is then unmounted like any other.
      if (!isKind(error, 'Unimplemented')) throw error;
    }
  }

  #notePath(podUid: string, specName: string): string {
    return this.#podFile(podUid, specName, 'driver');
  }

  #podFile(podUid: string, specName: string, name: string): string {
    return `${folderPrefix(this.#parts.rootDir)}/pods/${podUid}/plugins/kubernetes.io~flexvolume/${specName}/${name}`;
  }

  /** Records the driver, because only the folder is known at an unmount. */
  async #noteDriver(podUid: string, specName: string, driver: string): Promise<void> {
    const path = this.#notePath(podUid, specName);
    await this.#parts.files.makeDirectory(path.slice(0, path.lastIndexOf('/')), FOLDER_MODE);
    await this.#parts.files.writeFileAtomic(path, driver, NOTE_MODE);
  }
}
