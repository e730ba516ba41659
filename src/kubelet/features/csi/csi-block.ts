import { errorMessage } from '../../../base/errors.ts';
import type { StagedVolume, VolumeOnDisk, VolumeReady, VolumeRequest } from '../../ports/volume-plugin.ts';
import type { CsiContext } from './csi-context.ts';
import {
  stageVolume,
  FOLDER_MODE,
  openSession,
  openSessionToUndo,
  publishContextOf,
  wrapFailure,
  volumeDataOf,
} from './csi-context.ts';
import type { CsiExpansion } from './csi-expansion.ts';
import type { CsiSource } from './csi-request.ts';
import { blockCapability, podInfo, sourceOf } from './csi-request.ts';
import type { VolumeData } from './volume-data.ts';
import { readVolumeData, writeVolumeData } from './volume-data.ts';

const MAP_FILE_MODE = 0o600;

/**
 * Sets up raw devices (upstream: csi_block.go). The paths below plugins/kubernetes.io/csi/volumeDevices are:
 * `staging/<volume>` for the driver, `publish/<volume>/<pod uid>` for the device, `<volume>/dev/<pod uid>` for a second
 * link to the device, and `<volume>/data` for the data file. The pod's own entry is a link to the published device.
 */
export class CsiBlock {
  readonly #context: CsiContext;
  readonly #expansion: CsiExpansion;

  constructor(context: CsiContext, expansion: CsiExpansion) {
    this.#context = context;
    this.#expansion = expansion;
  }

  /** Resolves to the staging path, or '' for a driver that does not stage. */
  async stage(given: { specName: string; source: CsiSource; capacityBytes: number | undefined }): Promise<string> {
    const { specName, source } = given;
    const { paths, files, lookup } = this.#context;
    const session = openSession(this.#context, source.driver, 'blockMapper.SetUpDevice failed to get CSI client');
    const dataFolder = paths.deviceData(specName);
    const before = await readVolumeData(files, dataFolder);
    await files.makeDirectory(dataFolder, FOLDER_MODE);
    const capacityBytes = before?.capacityBytes === undefined ? given.capacityBytes : Number(before.capacityBytes);
    await writeVolumeData(files, dataFolder, volumeDataOf(this.#context, source, specName, capacityBytes));
    if (
      !(await wrapFailure('blockMapper.stageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability', () =>
        session.can('STAGE_UNSTAGE_VOLUME'),
      ))
    )
      return '';
    const secrets = await lookup.secret('NodeStageSecretRef', source.stageSecret);
    const publishContext = await publishContextOf(this.#context, source);
    const capability = blockCapability(source, await session.can('SINGLE_NODE_MULTI_WRITER'));
    const stagingPath = paths.deviceStaging(specName);
    await files.makeDirectory(stagingPath, FOLDER_MODE);
    const removeRemains = (): Promise<void> => this.#cleanUp(specName);
    const call = { source, publishContext, stagingPath, capability, secrets, removeRemains };
    await stageVolume(this.#context, session, call);
    return stagingPath;
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const { spec, pod, path } = request;
    const source = sourceOf(spec, pod);
    const device = this.#context.paths.devicePublish(spec.name, pod.metadata.uid);
    if (!request.again) {
      // The link is created before the call to the driver, so that a later scan of the pod's folder finds the volume.
      await this.#link(path, device);
      await this.#publish(request, source, device);
      await this.#map(device, this.#context.paths.deviceMap(spec.name, pod.metadata.uid));
    }
    const againInMs = await this.#expansion.expandIfGrown({
      request,
      source,
      volumePath: device,
      dataFolder: this.#context.paths.deviceData(spec.name),
    });
    return {
      hostPath: path,
      readOnly: spec.readOnly,
      selinuxRelabel: false,
      device: true,
      ...(againInMs === undefined ? {} : { againInMs }),
    };
  }

  async #publish({ spec, pod }: VolumeRequest, source: CsiSource, device: string): Promise<void> {
    const { paths, files, lookup } = this.#context;
    const session = openSession(this.#context, source.driver, 'blockMapper.MapPodDevice failed to get CSI client');
    const facts = await lookup.driver(source.driver);
    const secrets = await lookup.secret('NodePublishSecretRef', source.publishSecret);
    const capability = blockCapability(source, await session.can('SINGLE_NODE_MULTI_WRITER'));
    await files.makeDirectory(paths.devicePublishFolder(spec.name), FOLDER_MODE);
    // The file also shows, when the volume is torn down, that the driver was called.
    await this.#makeMapFile(paths.deviceMap(spec.name, pod.metadata.uid));
    await session.publish({
      volumeId: source.handle,
      publishContext: await publishContextOf(this.#context, source),
      // As upstream, the path is set also for a driver that does not stage.
      stagingPath: paths.deviceStaging(spec.name),
      targetPath: device,
      capability,
      readOnly: spec.readOnly,
      secrets,
      volumeContext: { ...source.attributes, ...(facts.podInfoOnMount ? podInfo(pod, source.lifecycle) : {}) },
    });
  }

  /** Links the device below the volume's name. */
  async #map(device: string, map: string): Promise<void> {
    const { mounts } = this.#context;
    if ((await mounts.listBelow(map)).length === 0) await mounts.bind(device, map, { readOnly: false });
  }

  /** Creates the link by which containers get the device. */
  async #link(link: string, device: string): Promise<void> {
    const { files } = this.#context;
    const there = await files.lstat(link);
    if (there?.type === 'symlink' && (await files.readLink(link)) === device) return;
    if (there !== undefined) await files.remove(link);
    await files.symlink(device, link);
  }

  async #makeMapFile(map: string): Promise<void> {
    const { files } = this.#context;
    if ((await files.lstat(map)) !== undefined) return;
    await files.makeDirectory(map.slice(0, map.lastIndexOf('/')), FOLDER_MODE);
    await files.writeFile(map, '', MAP_FILE_MODE);
  }

  async tearDown(volume: VolumeOnDisk): Promise<void> {
    const { paths, files, mounts } = this.#context;
    const data = await readVolumeData(files, paths.deviceData(volume.specName));
    const map = paths.deviceMap(volume.specName, volume.podUid);
    if ((await files.lstat(map)) !== undefined) {
      await mounts.unmount(map);
      if (data !== undefined) await this.#unpublish(volume, data);
      await files.remove(map);
    }
    // The file is removed last, because without it the teardown would not be retried.
    await files.remove(volume.path);
  }

  async #unpublish(volume: VolumeOnDisk, data: VolumeData): Promise<void> {
    const { paths } = this.#context;
    const session = await openSessionToUndo(
      this.#context,
      data.driverName,
      'blockMapper.UnmapPodDevice failed to get CSI client',
    );
    // The call is made even if the path does not exist, because a publish that timed out may still be running.
    await wrapFailure('blockMapper.unpublishVolumeForBlock failed', () =>
      session.unpublish({
        volumeId: data.volumeHandle,
        targetPath: paths.devicePublish(volume.specName, volume.podUid),
      }),
    );
    await this.#removePublished(paths.devicePublish(volume.specName, volume.podUid));
  }

  /** Removes the published device. Drivers must remove it, but some do not. */
  async #removePublished(device: string): Promise<void> {
    const { files, mounts, log } = this.#context;
    if ((await mounts.listBelow(device)).length > 0) await mounts.unmount(device);
    await files
      .remove(device)
      .catch((error: unknown) =>
        log.warn('a published device cannot be removed', { path: device, error: errorMessage(error) }),
      );
  }

  async unstage(specName: string): Promise<void> {
    const { paths, files } = this.#context;
    const data = await readVolumeData(files, paths.deviceData(specName));
    const stagingPath = paths.deviceStaging(specName);
    if (data !== undefined && (await files.lstat(stagingPath)) !== undefined) {
      const session = await openSessionToUndo(
        this.#context,
        data.driverName,
        'blockMapper.TearDownDevice failed to get CSI client',
      );
      const stages = await wrapFailure(
        'blockMapper.unstageVolumeForBlock failed to check STAGE_UNSTAGE_VOLUME capability',
        () => session.can('STAGE_UNSTAGE_VOLUME'),
      );
      if (stages)
        await wrapFailure('blockMapper.unstageVolumeForBlock failed', () =>
          session.unstage({ volumeId: data.volumeHandle, stagingPath }),
        );
      await files.removeTree(stagingPath);
    }
    await this.#cleanUp(specName);
  }

  async #cleanUp(specName: string): Promise<void> {
    const { paths, files } = this.#context;
    await files.remove(paths.devicePublishFolder(specName));
    await files.remove(paths.deviceStaging(specName));
    await files.removeTree(paths.deviceFolder(specName));
  }

  async findStaged(keyOf: (data: { driverName: string; volumeHandle: string }) => string): Promise<StagedVolume[]> {
    const { paths, files } = this.#context;
    const found: StagedVolume[] = [];
    for (const specName of await files.list(paths.devices)) {
      if (specName === 'staging' || specName === 'publish') continue;
      const data = await readVolumeData(files, paths.deviceData(specName));
      if (data !== undefined)
        found.push({ key: keyOf(data), path: paths.deviceStaging(specName), context: { mode: 'Block', specName } });
    }
    return found;
  }
}
