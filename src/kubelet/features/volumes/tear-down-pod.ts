import type { Clock } from '../../../base/clock.ts';
import { withDeadline } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import type { VolumePlugin, VolumeSpec } from '../../ports/volume-plugin.ts';
import { pluginFolder } from '../../ports/volume-plugin.ts';
import type { FoundVolume, PodFolders } from './pod-folders.ts';
import type { StagingArea } from './staging-area.ts';
import type { VolumeOperation } from './volume-operations.ts';
import { qualifiedPlugin, observedOperation } from './volume-operations.ts';

export interface TearDownParts {
  readonly folders: PodFolders;
  readonly plugins: readonly VolumePlugin[];
  readonly staging: StagingArea;
  readonly clock: Clock;
  readonly log: Logger;
  readonly onOperation?: ((operation: VolumeOperation) => void) | undefined;
  /** Returns the volume that this agent set up in the folder. */
  readonly specAt?: (path: string) => VolumeSpec | undefined;
}

/** The time limit for reading a folder on disk. */
const LOOK_LIMIT_MS = 10_000;

/**
 * Tears down all volumes of a pod from what is on disk, so that it works the same for a pod of this agent, of an
 * earlier one, and half-made ones: mounts of parts first, then each volume by its plugin, then the remaining folders. A
 * volume that cannot be removed does not block the others.
 */
export async function tearDownPod(parts: TearDownParts, uid: PodUid): Promise<void> {
  const { folders, staging } = parts;
  const volumes = await folders.volumesOf(uid);
  for (const volume of volumes) await identifyStaged(parts, uid, volume);
  await folders.removeSubPaths(uid);
  const results = await Promise.allSettled(volumes.map((volume) => tearDownVolume(parts, volume)));
  for (const result of results) if (result.status === 'rejected') throw result.reason;
  await folders.remove(folders.podPath(uid), { mounted: false });
  staging.release(uid);
}

async function tearDownVolume(parts: TearDownParts, volume: FoundVolume): Promise<void> {
  const { folders, plugins, specAt } = parts;
  const plugin = pluginOf(plugins, volume);
  const what = {
    plugin: qualifiedPlugin(plugin?.name ?? volume.folder, specAt?.(volume.path)),
    name: volume.mode === 'Block' ? 'unmap_volume' : 'volume_unmount',
  } as const;
  await observedOperation(parts, what, async () => {
    await plugin?.tearDown?.(volume);
    await folders.remove(volume.path, { mounted: volume.mounted || plugin?.tearDown !== undefined });
  });
}

/** Records which staged volume the volume uses, which is known only before it is torn down. */
export async function identifyStaged(
  { plugins, staging, clock, log }: TearDownParts,
  uid: PodUid,
  volume: FoundVolume,
): Promise<void> {
  const own = pluginOf(plugins, volume)?.staging;
  if (own === undefined) return;
  try {
    const staged = await withDeadline({ clock, limitMs: LOOK_LIMIT_MS, op: `look at ${volume.path}` }, () =>
      own.identify(volume),
    );
    if (staged !== undefined) staging.found(own, staged, uid);
  } catch (error) {
    log.warn('cannot determine from its folder which storage a volume uses', {
      podUID: uid,
      path: volume.path,
      error: errorMessage(error),
    });
  }
}

/** Returns everything that plugins report as staged on this node. */
export async function findStaged({ plugins, staging, clock, log }: TearDownParts): Promise<void> {
  await Promise.all(
    plugins.map(async (plugin) => {
      const own = plugin.staging;
      if (own === undefined) return;
      try {
        for (const staged of await withDeadline(
          { clock, limitMs: LOOK_LIMIT_MS, op: `find volumes of ${plugin.name}` },
          () => own.findStaged(),
        ))
          staging.found(own, staged);
      } catch (error) {
        log.warn('cannot determine which storage an earlier run prepared', {
          plugin: plugin.name,
          error: errorMessage(error),
        });
      }
    }),
  );
}

function pluginOf(plugins: readonly VolumePlugin[], volume: FoundVolume): VolumePlugin | undefined {
  return plugins.find((plugin) => pluginFolder(plugin.name) === volume.folder);
}
