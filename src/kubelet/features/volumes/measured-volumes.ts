import { lookupTable } from '../../../base/lookup.ts';
import type { PodUid } from '../../model/ids.ts';
import type { VolumeUsage } from '../../ports/volume-plugin.ts';
import type { PodEntry } from './pod-entry.ts';
import { claimNameOf } from './resolve-volume.ts';
import { qualifiedPlugin } from './volume-operations.ts';
import { usableVolume } from './volume-state.ts';

/** A volume that uses space of its own, and how that is measured. */
export interface MeasurableVolume {
  readonly name: string;
  readonly path: string;
  /**
   * The way to measure. `tree` counts its files, on the node's own disk or in memory. `fileSystem` reads the statistics
   * of its file system; a `remote` one may not respond.
   */
  readonly how: 'tree' | 'fileSystem' | 'remote' | { ask: () => Promise<VolumeUsage | undefined>; source: string };
  readonly ephemeral: boolean;
  readonly claim?: { name: string; namespace: string };
}

/**
 * The way to measure each kind (upstream: MetricsProvider of each plugin). Kinds that are not listed (hostPath, images)
 * are not measured.
 */
const HOW: Readonly<Record<string, 'tree' | 'fileSystem' | 'remote'>> = lookupTable({
  'kubernetes.io/empty-dir': 'tree',
  'kubernetes.io/configmap': 'tree',
  'kubernetes.io/secret': 'tree',
  'kubernetes.io/downward-api': 'tree',
  'kubernetes.io/projected': 'tree',
  'kubernetes.io/local-volume': 'fileSystem',
  'kubernetes.io/nfs': 'remote',
  'kubernetes.io/iscsi': 'remote',
  'kubernetes.io/fc': 'remote',
  'kubernetes.io/flexvolume': 'remote',
});

/** Returns the volumes of a pod that are ready and can be measured. */
export function measurableVolumes(uid: PodUid, { pod, volumes }: PodEntry): MeasurableVolume[] {
  return [...volumes].flatMap(([name, { volume, resolved, state }]) => {
    const usable = usableVolume(state);
    if (usable === undefined || resolved === undefined || usable.device === true) return [];
    const { plugin, spec, path } = resolved;
    const { usage } = plugin;
    const how =
      usage === undefined
        ? HOW[plugin.name]
        : {
            source: qualifiedPlugin('', spec).slice(1),
            ask: () => usage.call(plugin, { podUid: uid, specName: spec.name, mode: spec.mode, path }),
          };
    if (how === undefined) return [];
    const claimName = claimNameOf(pod, volume);
    // Upstream: util.IsLocalEphemeralVolume.
    const ephemeral =
      volume.configMap !== undefined || (volume.emptyDir !== undefined && (volume.emptyDir.medium ?? '') === '');
    return [
      {
        name,
        path: usable.hostPath,
        how,
        ephemeral,
        ...(claimName !== undefined && { claim: { name: claimName, namespace: pod.metadata.namespace } }),
      },
    ];
  });
}
