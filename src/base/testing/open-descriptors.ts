import { readdirSync, readlinkSync } from 'node:fs';

/**
 * The files that this process has open below these paths, as the kernel names them. Tests of other files run in the
 * same process, so the total number of descriptors is useless.
 */
export function openDescriptors(...paths: readonly string[]): readonly string[] {
  return readdirSync('/proc/self/fd')
    .map((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`);
      } catch {
        return ''; // It was closed since.
      }
    })
    .filter((target) => paths.some((path) => target === path || target.startsWith(`${path}/`)));
}
