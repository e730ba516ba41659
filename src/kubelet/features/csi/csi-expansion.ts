import { csiVolumeKey } from '../../../api/attachable-volume.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { quantityValue } from '../../../api/quantity.ts';
import { volumeEvents } from '../../../api/reasons.ts';
import { backoffDelayMs } from '../../../base/backoff.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import { KeyedQueue } from '../../../base/keyed-queue.ts';
import type { VolumeRequest, VolumeSpec } from '../../ports/volume-plugin.ts';
import type { CsiContext } from './csi-context.ts';
import { openSession } from './csi-context.ts';
import type { CsiSource } from './csi-request.ts';
import { blockCapability, mountCapability } from './csi-request.ts';
import { expansionFailure } from './driver-session.ts';
import type { VolumeData } from './volume-data.ts';
import { readVolumeData, writeVolumeData } from './volume-data.ts';

/** The back-off of retries (upstream: nestedpendingoperations, 500 ms to 2 min 2 s). */
const retry = { initialMs: 500, maxMs: 122_000, factor: 2 };

interface Grown {
  readonly request: VolumeRequest;
  readonly source: CsiSource;
  /** The path of the volume that the driver gets: the published mount or device. */
  readonly volumePath: string;
  /** The folder of the data file, which contains the size. */
  readonly dataFolder: string;
}

/**
 * Expands a volume in use when its PersistentVolume has a larger size than the known one. The known size is that in the
 * claim's status or, if no controller writes it, the size at the time when the volume was published. A volume that
 * cannot be expanded stays in use.
 */
export class CsiExpansion {
  readonly #context: CsiContext;
  readonly #calls = new KeyedQueue();
  /** The known size of each volume, and the number of failures for the requested size. */
  readonly #sizes = new Map<string, number>();
  readonly #failures = new Map<string, { wantedBytes: number; count: number; over: boolean }>();

  constructor(context: CsiContext) {
    this.#context = context;
  }

  /** Returns the size for the data file: the recorded one, else the one known now; undefined for inline volumes. */
  sizeToRecord(spec: VolumeSpec, before: VolumeData | undefined): number | undefined {
    return recordedBytes(before) ?? claimedBytes(spec) ?? wantedBytes(spec);
  }

  /**
   * Expands the volume if it grew. Resolves to the time until the next try, or undefined if there is nothing to do.
   * Rejects only if the data file cannot be written.
   */
  expandIfGrown(grown: Grown): Promise<number | undefined> {
    const { source } = grown;
    const key = csiVolumeKey(source.driver, source.handle);
    // If several pods request the expansion, only the first call runs it.
    return this.#calls.run(key, () => this.#expandIfGrown(key, grown));
  }

  /** Forgets a volume that no pod uses any more. */
  forget(key: string): void {
    this.#sizes.delete(key);
    this.#failures.delete(key);
  }

  async #expandIfGrown(key: string, grown: Grown): Promise<number | undefined> {
    const { request, source, dataFolder } = grown;
    const wanted = wantedBytes(request.spec);
    if (request.spec.kind !== 'persistent' || wanted === undefined) return undefined;
    const { claim } = request.spec;
    // Inline volumes cannot be expanded.
    if (claim === undefined) return undefined;
    const data = await readVolumeData(this.#context.files, dataFolder);
    const known = Math.max(recordedBytes(data) ?? 0, this.#sizes.get(key) ?? 0, claimedBytes(request.spec) ?? 0);
    if (known === 0 || wanted <= known) return this.#reportFinished(request, wanted);
    const failure = this.#failures.get(key);
    if (failure?.wantedBytes === wanted && failure.over) return undefined;
    if (request.spec.readOnly) {
      this.#failures.set(key, { wantedBytes: wanted, count: 1, over: true });
      this.#say(
        request.pod,
        'Warning',
        volumeEvents.fileSystemResizeFailed,
        `MountVolume.NodeExpandVolume failed for volume ${JSON.stringify(request.spec.name)} requested read-only file system`,
      );
      return undefined;
    }
    await this.#context.claims?.report(claim, { kind: 'inProgress' });
    try {
      await this.#expand(grown, wanted);
    } catch (error) {
      const retryMs = this.#failed(key, grown, wanted, error);
      await this.#reportFailed(claim, error);
      return retryMs;
    }
    this.#sizes.set(key, wanted);
    this.#failures.delete(key);
    if (data !== undefined)
      await writeVolumeData(this.#context.files, dataFolder, { ...data, capacityBytes: String(wanted) });
    this.#say(
      request.pod,
      'Normal',
      volumeEvents.fileSystemResizeSuccessful,
      `MountVolume.NodeExpandVolume succeeded for volume ${JSON.stringify(request.spec.name)} ${this.#context.nodeName}`,
    );
    this.#context.log.info('a volume was expanded', {
      driver: source.driver,
      volume: request.spec.name,
      bytes: wanted,
    });
    return this.#reportFinished(request, wanted);
  }

  /**
   * Reports that the volume has the requested size, which the claim may not show yet (upstream: MarkFSResizeFinished).
   * Resolves to the time until the next try.
   */
  async #reportFinished({ spec }: VolumeRequest, wanted: number): Promise<number | undefined> {
    const { claims } = this.#context;
    if (claims === undefined || spec.kind !== 'persistent' || spec.claim === undefined || spec.readOnly)
      return undefined;
    if ((claimedBytes(spec) ?? wanted) >= wanted) return undefined;
    const size =
      (isStep(spec.claim) ? spec.claim.status?.allocatedResources : spec.persistentVolume.spec.capacity)?.['storage'] ??
      String(wanted);
    return (await claims.report(spec.claim, { kind: 'finished', size })) ? undefined : retry.maxMs;
  }

  async #reportFailed(claim: PersistentVolumeClaim, error: unknown): Promise<void> {
    const kind = expansionFailure(error);
    if (kind === 'inUse') return;
    await this.#context.claims?.report(claim, {
      kind: kind === 'infeasible' ? 'infeasible' : 'failed',
      error: errorMessage(error),
    });
  }

  async #expand({ request, source, volumePath }: Grown, requiredBytes: number): Promise<void> {
    const session = openSession(this.#context, source.driver, 'Expander.NodeExpand');
    if (!(await session.can('EXPAND_VOLUME')))
      throw new KubeletError('Unimplemented', `NodeExpand is not supported by the CSI driver ${source.driver}`);
    const secrets = await this.#context.lookup.secret('NodeExpandSecretRef', source.expandSecret);
    const singleNodeMultiWriter = await session.can('SINGLE_NODE_MULTI_WRITER');
    const capability =
      request.spec.mode === 'Block'
        ? blockCapability(source, singleNodeMultiWriter)
        : mountCapability(source, {
            singleNodeMultiWriter,
            mountOptions: request.spec.mountOptions,
            mountGroup: undefined,
          });
    await session.expand({
      volumeId: source.handle,
      volumePath,
      stagingPath: request.staged?.path ?? '',
      requiredBytes,
      capability,
      secrets,
    });
  }

  #failed(key: string, { request }: Grown, wanted: number, error: unknown): number | undefined {
    const before = this.#failures.get(key);
    const kind = expansionFailure(error);
    const count = before?.wantedBytes === wanted ? before.count + 1 : 1;
    const over = kind === 'inUse' || (error instanceof KubeletError && error.kind === 'Unimplemented');
    this.#failures.set(key, { wantedBytes: wanted, count, over });
    const text = `NodeExpandVolume.NodeExpandVolume failed for volume ${JSON.stringify(request.spec.name)} : Expander.NodeExpand failed to expand the volume ${kind === 'infeasible' ? '' : ': '}${errorMessage(error)}`;
    this.#say(request.pod, 'Warning', volumeEvents.volumeResizeFailed, text);
    if (over) return undefined;
    return kind === 'infeasible' ? retry.maxMs : backoffDelayMs(retry, count);
  }

  #say(pod: Pod, type: 'Normal' | 'Warning', reason: string, message: string): void {
    this.#context.recorder.event(pod, type, reason, message);
  }
}

function bytesOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : quantityValue(text);
}

function wantedBytes(spec: VolumeSpec): number | undefined {
  if (spec.kind !== 'persistent') return undefined;
  const { claim } = spec;
  const step =
    claim !== undefined && isStep(claim) ? bytesOf(claim.status?.allocatedResources?.['storage']) : undefined;
  return step ?? bytesOf(spec.persistentVolume.spec.capacity?.['storage']);
}

/** Whether a controller announced that it expands the volume in steps (upstream: checkForRecoveryFromExpansion). */
function isStep({ status }: PersistentVolumeClaim): boolean {
  const pending = status?.allocatedResourceStatuses?.['storage'];
  return pending === 'NodeResizePending' || pending === 'NodeResizeInProgress';
}

function claimedBytes(spec: VolumeSpec): number | undefined {
  return spec.kind === 'persistent' ? bytesOf(spec.claim?.status?.capacity?.['storage']) : undefined;
}

function recordedBytes(data: VolumeData | undefined): number | undefined {
  const read = Number(data?.capacityBytes ?? Number.NaN);
  return Number.isSafeInteger(read) && read > 0 ? read : undefined;
}
