import type { Clock } from '../../../base/clock.ts';
import type { VolumeSpec } from '../../ports/volume-plugin.ts';

/** An operation on a volume that ended, as upstream names it (volume/util/operationexecutor). */
export interface VolumeOperation {
  /** With the driver's name behind that of CSI: `kubernetes.io/csi:driver`. */
  plugin: string;
  name: 'volume_mount' | 'map_volume' | 'volume_unmount' | 'unmap_volume';
  durationMs: number;
  failed: boolean;
}

/** What is in the manager: what pods want, and what is made. */
export interface VolumeCounts {
  desired: ReadonlyMap<string, number>;
  actual: ReadonlyMap<string, number>;
  /** Volumes found on disk at start. */
  reconstructed: number;
  /** Folders that no pod is known for, at the last clean-up, and how many of them stayed. */
  orphans: { found: number; left: number };
}

/** Upstream: GetFullQualifiedPluginNameForVolume. */
export function qualifiedPlugin(plugin: string, spec: VolumeSpec | undefined): string {
  if (spec === undefined) return plugin;
  const driver = spec.kind === 'inline' ? spec.volume.csi?.driver : spec.persistentVolume.spec.csi?.driver;
  return driver === undefined ? plugin : `${plugin}:${driver}`;
}

/** Tells how it went. What `isNone` names is no operation: it has not begun. */
export async function toldOperation<T>(
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
