const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

const steps: readonly (readonly [number, string])[] = [
  [100 * GIB, 'GT100GB'],
  [60 * GIB, '60GB-100GB'],
  [40 * GIB, '40GB-60GB'],
  [30 * GIB, '30GB-40GB'],
  [20 * GIB, '20GB-30GB'],
  [10 * GIB, '10GB-20GB'],
  [5 * GIB, '5GB-10GB'],
  [GIB, '1GB-5GB'],
  [500 * MIB, '500MB-1GB'],
  [100 * MIB, '100MB-500MB'],
  [10 * MIB, '10MB-100MB'],
  [0, '0-10MB'],
];

/** Returns the label for the size of an image (upstream: GetImageSizeBucket). */
export function imageSizeLabel(bytes: number): string {
  return steps.find(([above]) => bytes > above)?.[1] ?? 'N/A';
}
