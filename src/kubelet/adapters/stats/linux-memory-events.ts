import { watch } from 'node:fs';
import type { CgroupLayout } from '../cgroups/linux-cgroups-fs.ts';
import type { MemoryEvents } from '../../ports/stats.ts';

/**
 * Creates the kernel's notifications about the memory of a group: a limit was reached, or a process was killed, in the
 * group or below. Only cgroup v2 has a file for them that can be watched; undefined on v1.
 */
export function linuxMemoryEvents(layout: CgroupLayout): MemoryEvents | undefined {
  if (layout.version !== 2) return undefined;
  const { root } = layout;
  return {
    watch: (path, onEvent) => {
      try {
        const watcher = watch(`${root}${path}/memory.events`, { persistent: false }, onEvent);
        // The group was removed, so there is nothing left to watch.
        watcher.on('error', () => watcher.close());
        return () => watcher.close();
      } catch {
        return () => undefined;
      }
    },
  };
}
