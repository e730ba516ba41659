import { readFileSync } from 'node:fs';
import { parseMountInfo } from '../../../src/base/mount-info.ts';

/** The mount points whose paths begin with `start`, in the mount namespace of a process. */
export function mountPointsBelow(start: string, pid: number | 'self' = 'self'): string[] {
  return parseMountInfo(readFileSync(`/proc/${pid}/mountinfo`, 'utf8'))
    .map(({ path }) => path)
    .filter((path) => path.startsWith(start));
}
