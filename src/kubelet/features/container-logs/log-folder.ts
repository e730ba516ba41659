import path from 'node:path/posix';
import type { HostFiles } from '../../ports/host-files.ts';

/**
 * Whether a container's log directory is one, and so is its pod's, rather than links that somebody with a writable /var/log put there: below such
 * a link files of the host would be renamed, compressed and removed (TOB-K8S-026).
 */
export async function isLogFolder(files: Pick<HostFiles, 'lstat'>, directory: string): Promise<boolean> {
  const types = await Promise.all(
    [directory, path.dirname(directory)].map(async (at) => (await files.lstat(at))?.type),
  );
  return types.every((type) => type === 'directory');
}
