import type { DiskLayout } from './disk-layout.ts';
import { diskPartsOf } from './disk-layout.ts';
import type { PodDiskUse, TreeAmount } from './pod-usage.ts';

/**
 * A consumer of space on the images' file system, as a text for users. `isLayer` means that the runtime counts it among
 * its own data.
 */
export interface DiskConsumer {
  readonly what: string;
  readonly bytes: number;
  readonly isLayer?: boolean;
}

/** The maximum number of consumers that are named for each kind. */
const MOST_NAMED = 3;

interface Part {
  readonly name: string;
  readonly bytes: number;
}

/**
 * Lists the logs and volumes of pods on the file system of images, each with its largest users, and the largest
 * writable layers. `nameOf` returns the name of a pod, or undefined for a deleted one.
 */
export function computeDiskConsumers(
  uses: ReadonlyMap<string, PodDiskUse>,
  nameOf: (uid: string) => string | undefined,
  layout: DiskLayout,
): DiskConsumer[] {
  const where = diskPartsOf('imagefs.available', layout);
  const partsOf = (treesOf: (use: PodDiskUse) => ReadonlyMap<string, TreeAmount>): Part[] =>
    [...uses].flatMap(([uid, use]) =>
      [...treesOf(use)].map(([part, { usedBytes }]) => ({ name: `${nameOf(uid) ?? uid}/${part}`, bytes: usedBytes })),
    );
  return [
    ...(where.logs
      ? total(
          'logs of containers',
          partsOf(({ logs }) => logs),
        )
      : []),
    ...(where.volumes
      ? total(
          'volumes of pods',
          partsOf(({ volumes }) => volumes),
        )
      : []),
    ...(where.layers ? largest(partsOf(({ layers }) => layers)) : []).map(({ name, bytes }) => ({
      what: name,
      bytes,
      isLayer: true,
    })),
  ];
}

function total(what: string, parts: readonly Part[]): DiskConsumer[] {
  const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
  if (bytes === 0) return [];
  const names = largest(parts).map(({ name }) => name);
  return [{ what: `${what} (most: ${names.join(', ')})`, bytes }];
}

function largest(parts: readonly Part[]): Part[] {
  return parts
    .filter(({ bytes }) => bytes > 0)
    .sort((left, right) => right.bytes - left.bytes)
    .slice(0, MOST_NAMED);
}
