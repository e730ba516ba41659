import type { Pod } from '../../../api/core/pod.ts';
import type { ClusterObjectChange } from '../../ports/cluster-objects.ts';
import type { CsiUsage } from '../../ports/csi-drivers.ts';
import type {
  VolumeOnDisk,
  VolumePlugin,
  VolumeReady,
  VolumeRequest,
  VolumeSpec,
  VolumeStaging,
  VolumeUsage,
} from '../../ports/volume-plugin.ts';
import { CsiBlock } from './csi-block.ts';
import type { CsiContext } from './csi-context.ts';
import { openSession } from './csi-context.ts';
import { CsiExpansion } from './csi-expansion.ts';
import { CsiMount, targetPath } from './csi-mount.ts';
import { CSI_PLUGIN } from './csi-names.ts';
import { driverOf, isCsi, sourceOf } from './csi-request.ts';
import { CsiStaging } from './csi-staging.ts';
import { readVolumeData } from './volume-data.ts';

/** The plugin for volumes of CSI drivers: inline and claimed, as file systems and as raw devices. */
export class CsiPlugin implements VolumePlugin {
  readonly name = CSI_PLUGIN;
  readonly block = true;
  readonly staging: VolumeStaging;
  readonly #context: CsiContext;
  readonly #mount: CsiMount;
  readonly #block: CsiBlock;

  constructor(context: CsiContext) {
    const expansion = new CsiExpansion(context);
    this.#context = context;
    this.#mount = new CsiMount(context, expansion);
    this.#block = new CsiBlock(context, expansion);
    this.staging = new CsiStaging(context, this.#block, expansion);
  }

  supports(spec: VolumeSpec): boolean {
    return isCsi(spec);
  }

  /**
   * Returns the objects on which the volume depends. The driver's object is among them, and its listeners are also
   * notified when the driver registers.
   */
  objectsOf(spec: VolumeSpec, pod: Pod): readonly ClusterObjectChange[] {
    const { publishSecret, stageSecret, expandSecret } = sourceOf(spec, pod);
    const secrets = [publishSecret, stageSecret, expandSecret].filter((at) => at !== undefined);
    return [
      { kind: 'CSIDriver', namespace: '', name: driverOf(spec) },
      ...secrets.map(({ namespace, name }) => ({ kind: 'Secret' as const, namespace, name })),
    ];
  }

  setUp(request: VolumeRequest): Promise<VolumeReady> {
    return request.spec.mode === 'Block' ? this.#block.setUp(request) : this.#mount.setUp(request);
  }

  tearDown(volume: VolumeOnDisk): Promise<void> {
    return volume.mode === 'Block' ? this.#block.tearDown(volume) : this.#mount.tearDown(volume);
  }

  /** Calls NodeGetVolumeStats; undefined for a driver that does not support it. */
  async usage(volume: VolumeOnDisk): Promise<VolumeUsage | undefined> {
    const { paths, files } = this.#context;
    const isBlock = volume.mode === 'Block';
    const data = await readVolumeData(files, isBlock ? paths.deviceData(volume.specName) : volume.path);
    if (data === undefined) return undefined;
    const session = openSession(this.#context, data.driverName, 'failed to get CSI client');
    if (!(await session.can('GET_VOLUME_STATS'))) return undefined;
    const volumePath = isBlock ? paths.deviceMap(volume.specName, volume.podUid) : targetPath(volume.path);
    const { usage } = await session.stats({ volumeId: data.volumeHandle, volumePath });
    return usageOf(usage);
  }
}

/** Converts the usage; undefined if the driver reports nothing. */
function usageOf(usage: readonly CsiUsage[]): VolumeUsage | undefined {
  const bytes = usage.findLast(({ unit }) => unit === 'BYTES');
  const inodes = usage.findLast(({ unit }) => unit === 'INODES');
  if (bytes === undefined && inodes === undefined) return undefined;
  return {
    ...(bytes === undefined
      ? {}
      : { capacityBytes: bytes.total, availableBytes: bytes.available, usedBytes: bytes.used }),
    ...(inodes === undefined ? {} : { inodes: inodes.total, inodesFree: inodes.available, inodesUsed: inodes.used }),
  };
}
