import { csiVolumeKey } from '../../../api/attachable-volume.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { AttachedBy, StagedVolume, VolumeOnDisk, VolumeSpec, VolumeStaging } from '../../ports/volume-plugin.ts';
import type { CsiBlock } from './csi-block.ts';
import type { CsiContext } from './csi-context.ts';
import {
  stageVolume,
  FOLDER_MODE,
  isMounted,
  openSession,
  openSessionToUndo,
  publishContextOf,
  wrapFailure,
} from './csi-context.ts';
import type { CsiExpansion } from './csi-expansion.ts';
import { said } from './csi-names.ts';
import type { CsiSource } from './csi-request.ts';
import { mountCapability, sourceOf } from './csi-request.ts';
import type { DriverSession } from './driver-session.ts';
import { readVolumeData, writeVolumeData } from './volume-data.ts';

/**
 * Stages the part of a persistent volume that all pods of the node share: NodeStageVolume and NodeUnstageVolume
 * (upstream: csi_attacher.go).
 */
export class CsiStaging implements VolumeStaging {
  readonly #context: CsiContext;
  readonly #block: CsiBlock;
  readonly #expansion: CsiExpansion;

  constructor(context: CsiContext, block: CsiBlock, expansion: CsiExpansion) {
    this.#context = context;
    this.#block = block;
    this.#expansion = expansion;
  }

  plan(spec: VolumeSpec, pod: Pod): StagedVolume | undefined {
    if (spec.kind === 'inline') return undefined;
    const { driver, handle } = sourceOf(spec, pod);
    if (handle === '')
      throw new KubeletError(
        'Invalid',
        said(
          'attacher.GetDeviceMountPath failed to make device mount path: makeDeviceMountPath failed, CSIPersistentVolumeSource volume handle is empty',
        ),
      );
    const path =
      spec.mode === 'Block'
        ? this.#context.paths.deviceStaging(spec.name)
        : this.#context.paths.globalMount(driver, handle);
    return { key: csiVolumeKey(driver, handle), path, context: { mode: spec.mode, specName: spec.name } };
  }

  async attaches(spec: VolumeSpec, pod: Pod): Promise<AttachedBy> {
    const { attachRequired } = await this.#context.lookup.driver(sourceOf(spec, pod).driver);
    return attachRequired ? 'byController' : 'byNobody';
  }

  async checkAttached(spec: VolumeSpec, pod: Pod): Promise<void> {
    const { driver, handle } = sourceOf(spec, pod);
    await this.#context.attachments.check(driver, handle);
  }

  async stage({
    pod,
    spec,
    planned,
    fsGroup,
  }: {
    pod: Pod;
    spec: VolumeSpec;
    planned: StagedVolume;
    fsGroup: number | undefined;
  }): Promise<StagedVolume> {
    const source = sourceOf(spec, pod);
    if (spec.mode === 'Block') {
      const path = await this.#block.stage({
        specName: spec.name,
        source,
        capacityBytes: this.#expansion.sizeToRecord(spec, undefined),
      });
      return { ...planned, path };
    }
    const session = openSession(
      this.#context,
      source.driver,
      'attacher.MountDevice failed to create newCsiDriverClient',
    );
    if (!(await session.can('STAGE_UNSTAGE_VOLUME'))) return { ...planned, path: '' };
    await this.#stageMount({ session, source, spec, stagingPath: planned.path, fsGroup });
    return planned;
  }

  async #stageMount({
    session,
    source,
    spec,
    stagingPath,
    fsGroup,
  }: {
    session: DriverSession;
    source: CsiSource;
    spec: VolumeSpec;
    stagingPath: string;
    fsGroup: number | undefined;
  }): Promise<void> {
    const { files, lookup } = this.#context;
    const secrets = await lookup.secret('NodeStageSecretRef', source.stageSecret);
    const publishContext = await publishContextOf(this.#context, source);
    const capability = mountCapability(source, {
      singleNodeMultiWriter: await session.can('SINGLE_NODE_MULTI_WRITER'),
      mountOptions: spec.mountOptions,
      mountGroup: (await session.can('VOLUME_MOUNT_GROUP')) ? fsGroup : undefined,
    });
    await files.makeDirectory(stagingPath, FOLDER_MODE);
    // The file is written before the call, because a call that times out must be undone with its data.
    await writeVolumeData(files, folderOf(stagingPath), { volumeHandle: source.handle, driverName: source.driver });
    const removeRemains = (): Promise<void> => this.#removeStaged(stagingPath);
    const call = { source, publishContext, stagingPath, capability, secrets, removeRemains };
    await stageVolume(this.#context, session, call);
  }

  async unstage(staged: StagedVolume): Promise<void> {
    this.#expansion.forget(staged.key);
    const { context } = staged;
    if (context?.['mode'] === 'Block') return this.#block.unstage(context['specName'] ?? '');
    if (staged.path === '') return;
    const data = await readVolumeData(this.#context.files, folderOf(staged.path));
    if (data === undefined) return;
    const session = await openSessionToUndo(
      this.#context,
      data.driverName,
      'attacher.UnmountDevice failed to create newCsiDriverClient',
    );
    const stages = await wrapFailure('attacher.UnmountDevice failed to check whether STAGE_UNSTAGE_VOLUME set', () =>
      session.can('STAGE_UNSTAGE_VOLUME'),
    );
    if (stages)
      await wrapFailure('attacher.UnmountDevice failed', () =>
        session.unstage({ volumeId: data.volumeHandle, stagingPath: staged.path }),
      );
    await wrapFailure(`failed to clean up global mount ${folderOf(staged.path)}`, () =>
      this.#removeStaged(staged.path),
    );
  }

  async identify(volume: VolumeOnDisk): Promise<StagedVolume | undefined> {
    const { paths, files } = this.#context;
    if (volume.mode === 'Block') {
      const data = await readVolumeData(files, paths.deviceData(volume.specName));
      return data === undefined
        ? undefined
        : {
            key: csiVolumeKey(data.driverName, data.volumeHandle),
            path: paths.deviceStaging(volume.specName),
            context: { mode: 'Block', specName: volume.specName },
          };
    }
    const data = await readVolumeData(files, volume.path);
    if (data === undefined || data.volumeLifecycleMode === 'Ephemeral') return undefined;
    return {
      key: csiVolumeKey(data.driverName, data.volumeHandle),
      path: paths.globalMount(data.driverName, data.volumeHandle),
      context: { mode: 'Filesystem', specName: volume.specName },
    };
  }

  async findStaged(): Promise<readonly StagedVolume[]> {
    const { paths, files } = this.#context;
    const found: StagedVolume[] = [];
    for (const driver of await files.list(paths.base)) {
      if (driver === 'volumeDevices') continue;
      for (const digest of await files.list(`${paths.base}/${driver}`)) {
        const folder = `${paths.base}/${driver}/${digest}`;
        const data = await readVolumeData(files, folder);
        if (data !== undefined)
          found.push({
            key: csiVolumeKey(data.driverName, data.volumeHandle),
            path: `${folder}/globalmount`,
            context: { mode: 'Filesystem', specName: '' },
          });
      }
    }
    return [...found, ...(await this.#block.findStaged((data) => csiVolumeKey(data.driverName, data.volumeHandle)))];
  }

  /** Removes the staging folder. What is still mounted is kept with its data. */
  async #removeStaged(stagingPath: string): Promise<void> {
    if (await isMounted(this.#context, stagingPath)) return;
    const { files } = this.#context;
    await files.remove(stagingPath);
    // The folder contains only the data file, or an incomplete one of an interrupted write.
    await files.removeTree(folderOf(stagingPath));
  }
}

const folderOf = (path: string): string => path.slice(0, path.lastIndexOf('/'));
