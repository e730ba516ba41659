/** The default buckets of Prometheus. */
export const defaultBuckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10] as const;
export const podStartup = [
  0.5, 1, 2, 3, 4, 5, 6, 8, 10, 20, 30, 45, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
] as const;
export const imagePull = [
  1, 5, 10, 20, 30, 60, 120, 180, 240, 300, 360, 480, 600, 900, 1200, 1800, 2700, 3600,
] as const;
export const resize = [
  10, 50, 100, 500, 1000, 2000, 5000, 10_000, 20_000, 30_000, 60_000, 120_000, 300_000, 600_000,
] as const;
const HOUR = 3600;
const DAY = 24 * HOUR;
const ages = [HOUR, 4 * HOUR, DAY, 7 * DAY, 30 * DAY, 90 * DAY, 180 * DAY, 360 * DAY, 1440 * DAY] as const;
/** From a minute to four years. */
export const servingAge = [60, ...ages] as const;
/** The buckets of volume and CSI operations. */
export const storageSeconds = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 15, 25, 50, 120, 300, 600] as const;
/** The buckets of calls to DRA drivers: 0.1 s to 40 s. */
export const DRA_SECONDS = exponential(0.1, 400 ** (1 / 14), 15);
/** The buckets of requests to the API server, by time and by size. */
export const clientSeconds = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0] as const;
export const clientBytes = [64, 256, 512, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216] as const;

export function exponential(start: number, factor: number, count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => start * factor ** index);
}
