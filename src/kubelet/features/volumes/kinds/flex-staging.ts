import type { HostFiles } from '../../../ports/host-files.ts';
import type { Mounts } from '../../../ports/mounts.ts';
import type { Pod } from '../../../../api/core/pod.ts';
import type { StagedVolume, VolumeOnDisk, VolumeSpec, VolumeStaging } from '../../../ports/volume-plugin.ts';
import { isKind, KubeletError } from '../../../../base/errors.ts';
import type { DiskMounter } from '../disks/disk-mounter.ts';
import { DEFAULT_FS_TYPE } from '../disks/disk-mounter.ts';
import { readStaged, writeStaged } from '../disks/staged-note.ts';
import type { FlexDriver } from './flex-driver.ts';
import { flexSourceOf, specOptions } from './flex-driver.ts';
import { isMounted } from './pod-mounts.ts';

const FOLDER_MODE = 0o750;
const LONGEST_NAME = 180;

export interface FlexStagingParts {
  readonly files: HostFiles;
  readonly mounts: Mounts;
  readonly disks: DiskMounter;
  readonly driver: FlexDriver;
  readonly nodeName: () => string;
  /** The folder with the shared mounts of all drivers, as in upstream: `<root>/plugins/kubernetes.io/flexvolume`. */
  readonly folder: string;
  /** Returns the path of the note in the pod's folder that names the staged volume in use. */
  readonly podNote: (volume: { readonly podUid: string; readonly specName: string }) => string;
}

/**
 * The node-wide part of drivers that attach (upstream: flexvolume attacher.go, detacher.go): attach, waitforattach and
 * mountdevice once for all pods of the node, unmountdevice and detach after the last. The agent makes all calls itself,
 * as upstream's does with `enableControllerAttachDetach: false`; a volume that another program has attached (isattached)
 * is not attached or detached here. Calls that a driver does not support have upstream's defaults.
 */
export class FlexStaging implements VolumeStaging {
  readonly #parts: FlexStagingParts;

  constructor(parts: FlexStagingParts) {
    this.#parts = parts;
  }

  async plan(spec: VolumeSpec): Promise<StagedVolume | undefined> {
    const driver = flexSourceOf(spec)?.driver ?? '';
    const { attach } = await this.#parts.driver.capabilitiesOf(driver);
    if (!attach) return undefined;
    const answer = await this.#optional(driver, ['getvolumename', specOptions(spec)]);
    const volume = typeof answer?.['volumeName'] === 'string' ? answer['volumeName'] : spec.name;
    // The name becomes a path and a file name.
    const isPath = volume.split('/').some((part) => part === '' || part === '.' || part === '..');
    if (isPath || encodeURIComponent(`${driver}/${volume}`).length > LONGEST_NAME)
      throw new KubeletError(
        'Invalid',
        `flexVolume driver ${driver}: ${JSON.stringify(volume)} is not a valid name of a volume`,
      );
    const at = `${this.#parts.folder}/${driver}/mounts/${volume}`;
    return { key: `${driver}/${volume}`, path: at, context: { driver, volume } };
  }

  async stage({ spec, planned }: { pod: Pod; spec: VolumeSpec; planned: StagedVolume }): Promise<StagedVolume> {
    const { files, mounts, disks } = this.#parts;
    const { driver = '' } = planned.context ?? {};
    const options = specOptions(spec);
    const known = (await readStaged(files, this.#notePath(planned.key)))?.context ?? {};
    await this.#note(this.#notePath(planned.key), { ...planned, context: { ...known, ...planned.context } });
    const attached = await this.#attach(driver, options);
    const isOurs = attached.isOurs || known['isOurs'] === 'true';
    const waited = await this.#optional(driver, ['waitforattach', attached.device || (known['device'] ?? ''), options]);
    const device = deviceIn(waited) || attached.device || (known['device'] ?? '');
    const staged = { ...planned, context: { ...planned.context, device, isOurs: String(isOurs) } };
    await this.#note(this.#notePath(planned.key), staged);
    if (await isMounted(mounts, planned.path)) return staged;
    await files.makeDirectory(planned.path, FOLDER_MODE);
    const mounted = await this.#optional(driver, ['mountdevice', planned.path, device, options]);
    if (mounted === undefined && device !== '')
      await disks.mount(device, planned.path, {
        fsType: flexSourceOf(spec)?.fsType || DEFAULT_FS_TYPE,
        options: spec.readOnly ? ['ro'] : [],
      });
    return staged;
  }

  async unstage(staged: StagedVolume): Promise<void> {
    const { files, mounts, nodeName } = this.#parts;
    const { driver = '', volume = '', isOurs } = staged.context ?? {};
    if (await isMounted(mounts, staged.path)) {
      const done = await this.#optional(driver, ['unmountdevice', staged.path]);
      if (done === undefined) await mounts.unmount(staged.path);
      else if (await isMounted(mounts, staged.path))
        throw new KubeletError(
          'Unavailable',
          `flexVolume driver ${driver}: unmountdevice succeeded, but ${staged.path} is still mounted`,
        );
    }
    await files.remove(staged.path);
    if (isOurs === 'true') await this.#optional(driver, ['detach', volume, nodeName()]);
    await files.remove(this.#notePath(staged.key));
  }

  identify(volume: VolumeOnDisk): Promise<StagedVolume | undefined> {
    return readStaged(this.#parts.files, this.#parts.podNote(volume));
  }

  async findStaged(): Promise<readonly StagedVolume[]> {
    const { files } = this.#parts;
    const found = (await files.list(this.#notes)).map((name) => readStaged(files, `${this.#notes}/${name}`));
    return (await Promise.all(found)).filter((staged) => staged !== undefined);
  }

  /** Called before the pod's own mount. */
  noteOfPod(volume: { readonly podUid: string; readonly specName: string }, staged: StagedVolume): Promise<void> {
    return this.#note(this.#parts.podNote(volume), staged);
  }

  async #attach(driver: string, options: string): Promise<{ readonly device: string; readonly isOurs: boolean }> {
    const node = this.#parts.nodeName();
    const asked = await this.#optional(driver, ['isattached', options, node]);
    if (asked?.['attached'] === true) return { device: '', isOurs: false };
    const answer = await this.#optional(driver, ['attach', options, node]);
    return { device: deviceIn(answer), isOurs: answer !== undefined };
  }

  /** Calls the driver. Returns undefined for a call that it does not support. */
  async #optional(driver: string, args: readonly string[]): Promise<Readonly<Record<string, unknown>> | undefined> {
    try {
      return await this.#parts.driver.call(driver, args);
    } catch (error) {
      if (isKind(error, 'Unimplemented')) return undefined;
      throw error;
    }
  }

  get #notes(): string {
    return `${this.#parts.folder}/staged`;
  }

  #notePath(key: string): string {
    return `${this.#notes}/${encodeURIComponent(key)}.json`;
  }

  async #note(path: string, staged: StagedVolume): Promise<void> {
    await this.#parts.files.makeDirectory(path.slice(0, path.lastIndexOf('/')), FOLDER_MODE);
    await writeStaged(this.#parts.files, path, staged);
  }
}

const deviceIn = (answer: Readonly<Record<string, unknown>> | undefined): string =>
  typeof answer?.['device'] === 'string' ? answer['device'] : '';
