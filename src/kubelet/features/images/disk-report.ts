/** A known consumer of space on the images' file system. */
export interface DiskConsumer {
  readonly what: string;
  readonly bytes: number;
  /** Whether this is a writable layer, which the runtime counts among its own data. */
  readonly isLayer?: boolean;
}

export interface DiskFacts {
  readonly mountpoint: string;
  readonly usedPercent: number;
  readonly capacityBytes: number;
  readonly usedBytes: number;
  readonly freedBytes: number;
  /** The size of all data of the runtime: images, and the writable layers of containers. */
  readonly runtimeBytes: number;
  readonly imagesInUse: readonly { name: string; bytes: number }[];
  readonly consumers: readonly DiskConsumer[];
}

/**
 * Explains in one message why removing images did not free enough space, and what uses the disk. It begins with
 * upstream's words (image_gc_manager.go), which users search for.
 */
export function describeDiskUse(facts: DiskFacts): string {
  const largest = [...facts.imagesInUse].sort((left, right) => right.bytes - left.bytes).slice(0, 3);
  const layers = facts.consumers.filter(({ isLayer }) => isLayer === true);
  const named = [
    ...listOf('largest images in use', largest),
    ...listOf(
      'largest layers',
      layers.map(({ what, bytes }) => ({ name: what, bytes })),
    ),
  ].join('; ');
  const known = [
    { what: `images and container layers${named === '' ? '' : ` (${named})`}`, bytes: facts.runtimeBytes },
    ...facts.consumers.filter(({ isLayer }) => isLayer !== true),
  ]
    .filter(({ bytes }) => bytes > 0)
    .sort((left, right) => right.bytes - left.bytes);
  const rest = facts.usedBytes - known.reduce((sum, { bytes }) => sum + bytes, 0);
  const parts = known.map(({ what, bytes }) => `${formatSize(bytes)} ${what}`);
  if (rest > 0) parts.push(`${formatSize(rest)} other data that the agent does not manage`);
  return (
    `Insufficient free disk space on the node's image filesystem (${facts.usedPercent}% of ${formatSize(facts.capacityBytes)} used). ` +
    `Failed to free sufficient space by deleting unused images (freed ${facts.freedBytes} bytes). ` +
    `In use on ${facts.mountpoint}: ${parts.join('; ')}.`
  );
}

function listOf(title: string, parts: readonly { name: string; bytes: number }[]): string[] {
  if (parts.length === 0) return [];
  return [`${title}: ${parts.map(({ name, bytes }) => `${name} ${formatSize(bytes)}`).join(', ')}`];
}

function formatSize(bytes: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = bytes;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit++;
  }
  return unit === 0 ? `${Math.floor(size)} B` : `${size.toFixed(1)} ${units[unit]}`;
}
