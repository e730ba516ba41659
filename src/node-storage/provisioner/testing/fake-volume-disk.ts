import type { VolumeDisk } from '../volume-disk.ts';

export interface FakeVolumeDisk extends VolumeDisk {
  /** The limit of each volume that has a directory, in bytes; 0 before one is set. */
  readonly limits: ReadonlyMap<string, number>;
  /** The volumes whose directory is not empty. */
  readonly filled: Set<string>;
  free: number;
  /** The next removals fail with this. */
  failure: Error | undefined;
}

/** A disk in memory. Names lead to paths below `/disk`. */
export function createFakeVolumeDisk(): FakeVolumeDisk {
  const limits = new Map<string, number>();
  const disk: FakeVolumeDisk = {
    limits,
    filled: new Set(),
    free: 2 ** 40,
    failure: undefined,
    pathOf: (name) => `/disk/${name}`,
    create: async (name) => void limits.set(name, limits.get(name) ?? 0),
    limit: async (name, sizeBytes) => {
      if (!limits.has(name)) throw new Error(`${name} has no directory`);
      limits.set(name, sizeBytes);
      return true;
    },
    remove: async (name) => {
      if (disk.failure !== undefined) throw disk.failure;
      limits.delete(name);
    },
    removeEmpty: async (name) => !disk.filled.has(name) && (limits.delete(name) || true),
    freeBytes: async () => disk.free,
    list: async () => [...limits.keys()],
  };
  return disk;
}
