import type { PodUid } from '../../model/ids.ts';
import type { VolumeSpec } from '../../ports/volume-plugin.ts';
import { pluginFolder } from '../../ports/volume-plugin.ts';
import type { Resolved } from './set-up-volume.ts';
import { aloneInUse } from './set-up-volume.ts';

/** Tracks which pod uses which PersistentVolume, so that a ReadWriteOncePod volume has one user. */
export class ReadWriteOncePodTracker {
  readonly #users = new Map<string, Set<PodUid>>();

  /** Records that such a folder was found below the pod's, so the pod used, or uses, the volume. */
  found(volume: { folder: string; specName: string }, uid: PodUid): void {
    const key = `${volume.folder}/${volume.specName}`;
    const users = this.#users.get(key) ?? new Set();
    this.#users.set(key, users.add(uid));
  }

  /** Records the use. Throws the message for the pod when another one uses the volume. */
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

  /** Whether the volume may be waiting for another pod to release it. */
  waits(resolved: Resolved | undefined): boolean {
    return resolved !== undefined && wantsToBeAlone(resolved.spec) && !this.#users.has(keyOf(resolved));
  }
}

const keyOf = ({ spec, plugin }: Resolved): string => `${pluginFolder(plugin.name)}/${spec.name}`;

function wantsToBeAlone(spec: VolumeSpec): boolean {
  return spec.kind === 'persistent' && spec.persistentVolume.spec.accessModes?.includes('ReadWriteOncePod') === true;
}
