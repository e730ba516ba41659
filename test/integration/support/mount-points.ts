import { readFileSync } from 'node:fs';
import { parseMountInfo } from '../../../src/base/mount-info.ts';

/** Where something is mounted, among the paths that begin with `start`, in the mount namespace of a process. */
export function mountPointsBelow(start: string, pid: number | 'self' = 'self'): string[] {
  return parseMountInfo(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))
    .map(({ path }) => path)
    .filter((path) => path.startsWith(start));
}
