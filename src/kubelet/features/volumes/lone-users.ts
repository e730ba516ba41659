import type { PodUid } from '../../model/ids.ts';
import { pluginFolder, type VolumeSpec } from '../../ports/volume-plugin.ts';
import { aloneInUse, type Resolved } from './set-up-volume.ts';

/** Who uses which PersistentVolume, so that one of access mode ReadWriteOncePod has one user. */
export class LoneUsers {
  readonly #users = new Map<string, Set<PodUid>>();

  /** Such a folder was found below the pod's: it used, or uses, the volume. */
  found(volume: { folder: string; specName: string }, uid: PodUid): void {
    const key = `${volume.folder}/${volume.specName}`;
    const users = this.#users.get(key) ?? new Set();
    this.#users.set(key, users.add(uid));
  }

  /** Throws what the pod gets to hear when another one uses the volume. */
  use(resolved: Resolved, uid: PodUid): void {
    const { spec } = resolved;
    if (spec.kind === 'inline') return;
    if (wantsToBeAlone(spec) && [...(this.#users.get(keyOf(resolved)) ?? [])].some((other) => other !== uid))
      throw aloneInUse(spec);
    this.found({ folder: pluginFolder(resolved.plugin.name), specName: spec.name }, uid);
  }

  release(uid: PodUid): void {
    for (const [key, users] of this.#users) if (users.delete(uid) && users.size === 0) this.#users.delete(key);
  }

  /** Whether the volume may have been waiting for another pod to leave it. */
  waits(resolved: Resolved | undefined): boolean {
    return resolved !== undefined && wantsToBeAlone(resolved.spec) && !this.#users.has(keyOf(resolved));
  }
}

const keyOf = ({ spec, plugin }: Resolved): string => `${pluginFolder(plugin.name)}/${spec.name}`;

function wantsToBeAlone(spec: VolumeSpec): boolean {
  return spec.kind === 'persistent' && spec.persistentVolume.spec.accessModes?.includes('ReadWriteOncePod') === true;
}
