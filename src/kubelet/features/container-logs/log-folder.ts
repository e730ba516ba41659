import path from 'node:path/posix';
import type { HostFiles } from '../../ports/host-files.ts';

/**
 * Whether the log directories of a container and of its pod are real directories, and not links. A user who can write
 * to /var/log could place links, and files of the host would be renamed, compressed and removed (TOB-K8S-026).
 */
export async function isLogFolder(files: Pick<HostFiles, 'lstat'>, directory: string): Promise<boolean> {
  const types = await Promise.all(
    [directory, path.dirname(directory)].map(async (at) => (await files.lstat(at))?.type),
  );
  return types.every((type) => type === 'directory');
}
