import { folderPrefix } from '../../../base/folder-path.ts';
import { errorMessage, KubeletError } from '../../../base/errors.ts';
import type { Logger } from '../../../base/log.ts';
import type { PodUid } from '../../model/ids.ts';
import { podUid } from '../../model/ids.ts';
import type { HostFiles } from '../../ports/host-files.ts';
import type { MountPoint, Mounts } from '../../ports/mounts.ts';
import type { VolumeOnDisk } from '../../ports/volume-plugin.ts';

/** A volume found on disk. */
export interface FoundVolume extends VolumeOnDisk {
  /** The folder of the plugin: `kubernetes.io~empty-dir`. */
  readonly folder: string;
  readonly mounted: boolean;
}

/** The folders of volumes below a pod's folder, by mode. */
const places: Readonly<Record<VolumeOnDisk['mode'], string>> = { Filesystem: 'volumes', Block: 'volumeDevices' };

/** Throws Invalid for a name that would leave its folder. */
function safeName(value: string, what: string): string {
  if (value === '' || value === '.' || value === '..' || value.includes('/') || value.includes('\0')) {
    throw new KubeletError('Invalid', `${what} ${JSON.stringify(value)} cannot be used as a file name`, {
      op: 'name folder',
    });
  }
  return value;
}

/** The folders `<root>/pods/<uid>` and their content. */
export class PodFolders {
  readonly #base: string;
  readonly #files: HostFiles;
  readonly #mounts: Mounts;
  readonly #log: Logger;

  constructor(options: { rootDir: string; files: HostFiles; mounts: Mounts; log: Logger }) {
    this.#base = `${folderPrefix(options.rootDir)}/pods`;
    this.#files = options.files;
    this.#mounts = options.mounts;
    this.#log = options.log;
  }

  podPath(uid: PodUid): string {
    return `${this.#base}/${safeName(uid, 'pod uid')}`;
  }

  volumePath(
    uid: PodUid,
    { folder, name, mode }: { folder: string; name: string; mode: VolumeOnDisk['mode'] },
  ): string {
    return `${this.podPath(uid)}/${places[mode]}/${folder}/${safeName(name, 'volume name')}`;
  }

  /** Returns the folder with the mounts of parts of volumes, which keep the volumes busy. */
  subPathsPath(uid: PodUid): string {
    return `${this.podPath(uid)}/volume-subpaths`;
  }

  /** Removes the mounts of parts of volumes. An empty folder is removed with the pod's. */
  async removeSubPaths(uid: PodUid): Promise<void> {
    const path = this.subPathsPath(uid);
    if ((await this.#files.list(path)).length > 0) await this.remove(path);
  }

  async list(): Promise<PodUid[]> {
    const names = await this.#files.list(this.#base);
    const kept = await Promise.all(
      names.map(async (name) =>
        (await this.#files.lstat(`${this.#base}/${name}`))?.type === 'directory' ? podUid(name) : undefined,
      ),
    );
    return kept.filter((uid) => uid !== undefined);
  }

  /**
   * Finds all entries below volumes/ and volumeDevices/ of all pods, with one read of the mount table. Unreadable
   * folders are skipped and logged.
   */
  async findVolumes(): Promise<Map<PodUid, FoundVolume[]>> {
    const mounted = new Set((await this.#mounts.listBelow(this.#base)).map((mount) => mount.path));
    const found = new Map<PodUid, FoundVolume[]>();
    await Promise.all(
      (await this.list()).map(async (uid) => {
        try {
          found.set(uid, await this.#volumesOf(uid, mounted));
        } catch (error) {
          this.#log.warn('the folder of a pod cannot be read', { podUID: uid, error: errorMessage(error) });
          found.set(uid, []);
        }
      }),
    );
    return found;
  }

  async volumesOf(uid: PodUid): Promise<FoundVolume[]> {
    return this.#volumesOf(uid, new Set((await this.#mounts.listBelow(this.podPath(uid))).map((mount) => mount.path)));
  }

  /** Lists the volumes of a pod. It lists folders only, and never accesses what is mounted there, which may hang. */
  async #volumesOf(uid: PodUid, mounted: ReadonlySet<string>): Promise<FoundVolume[]> {
    const volumes: FoundVolume[] = [];
    for (const mode of ['Filesystem', 'Block'] as const) {
      const base = `${this.podPath(uid)}/${places[mode]}`;
      for (const folder of await this.#files.list(base)) {
        for (const specName of await this.#files.list(`${base}/${folder}`)) {
          const path = `${base}/${folder}/${specName}`;
          volumes.push({ podUid: uid, specName, mode, folder, path, mounted: mounted.has(path) });
        }
      }
    }
    return volumes;
  }

  /**
   * Unmounts everything at or below a path, innermost first, then removes it. A failed unmount keeps the folder:
   * removeTree does not touch a tree with a mount in it, so mounted data is never deleted. A missing path is success.
   * `mounted: false`: probably nothing is mounted, which saves reading the mount table.
   */
  async remove(path: string, { mounted = true }: { mounted?: boolean } = {}): Promise<void> {
    if (!mounted && (await this.#removedAtOnce(path))) return;
    const mounts = await this.#mounts.listBelow(path);
    for (const mount of innermostFirst(mounts)) await this.#mounts.unmount(mount.path);
    await this.#files.removeTree(path);
  }

  async #removedAtOnce(path: string): Promise<boolean> {
    try {
      await this.#files.removeTree(path);
      return true;
    } catch (error) {
      this.#log.debug(2, 'a folder of a pod is in use', { path, error: errorMessage(error) });
      return false;
    }
  }
}

/** Sorts mounts for unmounting. Later mounts cover earlier ones, so among mounts of one path the last comes first. */
function innermostFirst(mounts: readonly MountPoint[]): MountPoint[] {
  return mounts
    .map((mount, order) => ({ mount, order, depth: mount.path.split('/').length }))
    .sort((left, right) => right.depth - left.depth || right.order - left.order)
    .map(({ mount }) => mount);
}
