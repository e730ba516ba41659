import { withDeadline, type Clock } from '../../../base/clock.ts';
import { errorMessage } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import { pluginFolder, type VolumePlugin, type VolumeSpec } from '../../ports/volume-plugin.ts';
import type { FoundVolume, PodFolders } from './pod-folders.ts';
import type { StagingArea } from './staging-area.ts';
import { qualifiedPlugin, toldOperation, type VolumeOperation } from './volume-operations.ts';

export interface TearDownParts {
  folders: PodFolders;
  plugins: readonly VolumePlugin[];
  staging: StagingArea;
  clock: Clock;
  log: Logger;
  onOperation?: ((operation: VolumeOperation) => void) | undefined;
  /** Of a volume of this agent's life, by its folder. */
  specAt?: (path: string) => VolumeSpec | undefined;
}

/** How long a look at what a folder on disk tells may take. */
const LOOK_LIMIT_MS = 10_000;

/**
 * Takes down all volumes of a pod from what lies on disk, so that it is the same for a pod of this agent, of an earlier one, and half-made ones:
 * mounts of parts first, then each volume by its plugin, then whatever is left. One volume that does not go keeps no other one.
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
  await toldOperation(parts, what, async () => {
    await plugin?.tearDown?.(volume);
    await folders.remove(volume.path, { mounted: volume.mounted || plugin?.tearDown !== undefined });
  });
}

/** Notes which staged volume it uses, which can be known only before it is taken down. */
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
    log.warn('which storage a volume uses cannot be told from its folder', {
      podUID: uid,
      path: volume.path,
      error: errorMessage(error),
    });
  }
}

/** Everything that plugins say is staged on this node. */
export async function findStaged({ plugins, staging, clock, log }: TearDownParts): Promise<void> {
  await Promise.all(
    plugins.map(async (plugin) => {
      const own = plugin.staging;
      if (own === undefined) return;
      try {
        for (const staged of await withDeadline(
          { clock, limitMs: LOOK_LIMIT_MS, op: `look for volumes of ${plugin.name}` },
          () => own.findStaged(),
        ))
          staging.found(own, staged);
      } catch (error) {
        log.warn('which storage an earlier run prepared cannot be told', {
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
