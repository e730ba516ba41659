import { isKind, KubeletError } from '../../../base/errors.ts';
import type { VolumeOnDisk, VolumeReady, VolumeRequest } from '../../ports/volume-plugin.ts';
import type { CsiContext } from './csi-context.ts';
import {
  cleanUpAfter,
  FOLDER_MODE,
  isMounted,
  openSession,
  openSessionToUndo,
  publishContextOf,
  wrapFailure,
  volumeDataOf,
} from './csi-context.ts';
import type { CsiExpansion } from './csi-expansion.ts';
import type { DriverFacts } from './csi-lookup.ts';
import { said } from './csi-names.ts';
import type { CsiSource } from './csi-request.ts';
import { mountCapability, ownsByGroup, podInfo, sourceOf } from './csi-request.ts';
import type { DriverSession } from './driver-session.ts';
import { isFinal } from './driver-session.ts';
import { readVolumeData, writeVolumeData } from './volume-data.ts';

/** The interval in which volumes with requiresRepublish are published again, as often as upstream syncs their pods. */
const REPUBLISH_MS = 60_000;

/** Returns the mount target for a driver: a folder inside the volume's folder, beside the data file. */
export const targetPath = (volumePath: string): string => `${volumePath}/mount`;

/** Mounts volumes of mode Filesystem with NodePublishVolume and NodeUnpublishVolume (upstream: csi_mounter.go). */
export class CsiMount {
  readonly #context: CsiContext;
  readonly #expansion: CsiExpansion;

  constructor(context: CsiContext, expansion: CsiExpansion) {
    this.#context = context;
    this.#expansion = expansion;
  }

  async setUp(request: VolumeRequest): Promise<VolumeReady> {
    const source = sourceOf(request.spec, request.pod);
    const facts = await this.#context.lookup.driver(source.driver);
    const publishes = !request.again || facts.requiresRepublish;
    const ownership = publishes && (await this.#publish(request, source, facts));
    const retryMs = await this.#expansion.expandIfGrown({
      request,
      source,
      volumePath: targetPath(request.path),
      dataFolder: request.path,
    });
    const againInMs = Math.min(
      retryMs ?? Number.POSITIVE_INFINITY,
      facts.requiresRepublish ? REPUBLISH_MS : Number.POSITIVE_INFINITY,
    );
    return {
      hostPath: targetPath(request.path),
      readOnly: request.spec.readOnly,
      selinuxRelabel: true,
      ...(ownership ? { ownership: 'apply' as const } : {}),
      ...(Number.isFinite(againInMs) ? { againInMs } : {}),
    };
  }

  /** Publishes the volume. Resolves to whether the agent must change the group of its files. */
  async #publish(request: VolumeRequest, source: CsiSource, facts: DriverFacts): Promise<boolean> {
    const session = openSession(this.#context, source.driver, 'mounter.SetUpAt failed to get CSI client');
    checkLifecycle(source, facts);
    const delegated = await session.can('VOLUME_MOUNT_GROUP');
    const order = await this.#order({ request, source, facts, session, delegated });
    const before = await readVolumeData(this.#context.files, request.path);
    await this.#context.files.makeDirectory(request.path, FOLDER_MODE);
    const capacityBytes = this.#expansion.sizeToRecord(request.spec, before);
    await writeVolumeData(this.#context.files, request.path, {
      ...volumeDataOf(this.#context, source, request.spec.name, capacityBytes),
      volumeLifecycleMode: source.lifecycle,
    });
    try {
      await session.publish(order);
    } catch (error) {
      // If the call may still be running or the volume is in use, the data to undo it is kept.
      if (isFinal(error) && !request.again)
        await cleanUpAfter(this.#context, request.path, () => this.#removeFolder(request.path));
      throw error;
    }
    return ownsByGroup(source, {
      fsGroup: request.fsGroup,
      policy: facts.fsGroupPolicy,
      readOnly: request.spec.readOnly,
      delegated,
    });
  }

  async #order(given: {
    request: VolumeRequest;
    source: CsiSource;
    facts: DriverFacts;
    session: DriverSession;
    delegated: boolean;
  }) {
    const { request, source, facts, session, delegated } = given;
    const { lookup } = this.#context;
    const secrets = await lookup.secret('NodePublishSecretRef', source.publishSecret);
    const tokens = await wrapFailure('mounter.SetUpAt failed to get service accoount token attributes', () =>
      lookup.tokens(facts, request.pod),
    );
    const capability = mountCapability(source, {
      singleNodeMultiWriter: await session.can('SINGLE_NODE_MULTI_WRITER'),
      mountOptions: request.spec.mountOptions,
      mountGroup: delegated ? request.fsGroup : undefined,
    });
    return {
      volumeId: source.handle,
      publishContext: source.lifecycle === 'Ephemeral' ? {} : await publishContextOf(this.#context, source),
      stagingPath: request.staged?.path ?? '',
      targetPath: targetPath(request.path),
      capability,
      readOnly: request.spec.readOnly,
      secrets: facts.tokensInSecrets ? { ...secrets, ...tokens } : secrets,
      volumeContext: {
        ...source.attributes,
        ...(facts.podInfoOnMount ? podInfo(request.pod, source.lifecycle) : {}),
        ...(facts.tokensInSecrets ? {} : tokens),
      },
    };
  }

  async tearDown(volume: VolumeOnDisk): Promise<void> {
    const data = await readVolumeData(this.#context.files, volume.path);
    if (data === undefined) {
      const target = targetPath(volume.path);
      if (await isMounted(this.#context, target))
        this.#context.log.warn('a CSI volume has lost its data file; it is unmounted without a call to the driver', {
          path: target,
        });
      return;
    }
    const session = await openSessionToUndo(
      this.#context,
      data.driverName,
      'Unmounter.TearDownAt failed to get CSI client',
    );
    await wrapFailure('Unmounter.TearDownAt failed', () =>
      session.unpublish({ volumeId: data.volumeHandle, targetPath: targetPath(volume.path) }),
    );
    await this.#removeFolder(volume.path);
  }

  /**
   * Removes the target. Drivers must remove it, but some do not. A target that is still mounted is kept with its data.
   */
  async #removeFolder(path: string): Promise<void> {
    const { files } = this.#context;
    const target = targetPath(path);
    if (await isMounted(this.#context, target)) return;
    try {
      await files.remove(target);
    } catch (error) {
      if (!isKind(error, 'Conflict')) throw error;
      throw new KubeletError(
        'Conflict',
        said(`failed to remove dir [${target}]: remove ${target}: directory not empty`),
        { cause: error },
      );
    }
    // The folder contains only the data file, or an incomplete one of an interrupted write.
    await files.removeTree(path);
  }
}

function checkLifecycle(source: CsiSource, facts: DriverFacts): void {
  if (facts.lifecycleModes.includes(source.lifecycle) && (facts.known || source.lifecycle === 'Persistent')) return;
  const supported = facts.known
    ? `only supports [${facts.lifecycleModes.map((mode) => JSON.stringify(mode)).join(' ')}]`
    : 'no CSIDriver object';
  throw new KubeletError(
    'Invalid',
    said(
      `mounter.SetupAt failed to check volume lifecycle mode: volume mode ${JSON.stringify(source.lifecycle)} not supported by driver ${source.driver} (${supported})`,
    ),
  );
}
