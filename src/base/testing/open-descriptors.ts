import { readdirSync, readlinkSync } from 'node:fs';

/**
 * What this process has open below these paths, as the kernel names it. Tests of other files run in the same process, so
 * the number of all descriptors says nothing about one of them.
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
