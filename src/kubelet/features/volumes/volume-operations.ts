import type { Clock } from '../../../base/clock.ts';
import type { VolumeSpec } from '../../ports/volume-plugin.ts';

/** A finished operation on a volume, with upstream's name (volume/util/operationexecutor). */
export interface VolumeOperation {
  /** The name of the plugin. For CSI, the driver's name follows: `kubernetes.io/csi:driver`. */
  readonly plugin: string;
  readonly name: 'volume_mount' | 'map_volume' | 'volume_unmount' | 'unmap_volume';
  readonly durationMs: number;
  readonly failed: boolean;
}

/** The numbers of desired and actual volumes of the manager. */
export interface VolumeCounts {
  readonly desired: ReadonlyMap<string, number>;
  readonly actual: ReadonlyMap<string, number>;
  /** The number of volumes found on disk at the start. */
  readonly reconstructed: number;
  /** The number of folders of unknown pods at the last clean-up, and how many of them remained. */
  readonly orphans: { found: number; left: number };
}

/** Returns the full plugin name (upstream: GetFullQualifiedPluginNameForVolume). */
export function qualifiedPlugin(plugin: string, spec: VolumeSpec | undefined): string {
  if (spec === undefined) return plugin;
  const driver = spec.kind === 'inline' ? spec.volume.csi?.driver : spec.persistentVolume.spec.csi?.driver;
  return driver === undefined ? plugin : `${plugin}:${driver}`;
}

/**
 * Runs the operation and reports its result. An error for which `isNone` is true means that the operation has not
 * begun.
 */
export async function observedOperation<T>(
  parts: { clock: Clock; onOperation?: ((operation: VolumeOperation) => void) | undefined },
  what: Pick<VolumeOperation, 'plugin' | 'name'>,
  work: () => Promise<T>,
  isNone: (error: unknown) => boolean = () => false,
): Promise<T> {
  const { clock, onOperation } = parts;
  const startMs = clock.monotonicMs();
  try {
    const result = await work();
    onOperation?.({ ...what, durationMs: clock.monotonicMs() - startMs, failed: false });
    return result;
  } catch (error) {
    if (!isNone(error)) onOperation?.({ ...what, durationMs: clock.monotonicMs() - startMs, failed: true });
    throw error;
  }
}

export function counted(names: Iterable<string>): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}
