import path from 'node:path/posix';
import { allContainers } from '../../../../api/pod.ts';
import type { Pod } from '../../../../api/core/pod.ts';

/**
 * Folders that must exist inside this (read-only) volume because a container mounts another volume below its mount
 * point. The runtime could not create them in a read-only mount (upstream: volume/util/nested_volumes.go).
 */
export function nestedMountPoints(pod: Pod, volumeName: string): string[] {
  const found = new Set<string>();
  for (const { container } of allContainers(pod)) {
    const mounts = container.volumeMounts ?? [];
    for (const own of mounts.filter((mount) => mount.name === volumeName)) {
      const base = path.normalize(`${own.mountPath}/`);
      for (const other of mounts) {
        const target = path.normalize(other.mountPath);
        const relative =
          target.startsWith(base) && other.name !== volumeName
            ? path.normalize(`${own.subPath ?? ''}/${target.slice(base.length)}`).replace(/^\/+|(?<!\/)\/+$/g, '')
            : '';
        if (relative !== '' && !relative.startsWith('..')) found.add(relative);
      }
    }
  }
  return [...found].sort();
}
