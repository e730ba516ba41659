import { constants } from 'node:fs';
import { open, readdir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { KubeletError } from '../../../base/errors.ts';
import type { SystemLogEntry, SystemLogs } from '../../ports/system-logs.ts';
import { fromErrno } from '../linux-errors.ts';
import { linuxLogFiles } from './linux-log-files.ts';

const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export function linuxSystemLogs(root: string): SystemLogs {
  return {
    async open(relative) {
      const full = path.join(root, relative);
      if (full !== path.normalize(root).replace(/\/$/, '') && !full.startsWith(`${root.replace(/\/$/, '')}/`))
        throw new KubeletError('Invalid', 'the path leads out of the logs', { op: 'open log' });
      const folder = await openFolder(root, full.replace(/\/$/, ''));
      return folder ?? { kind: 'file', file: await linuxLogFiles.open(full.replace(/\/$/, ''), root) };
    },
  };
}

/** Undefined for what is no folder. As for files, the kernel says after the fact where it lies. */
async function openFolder(root: string, full: string): Promise<SystemLogEntry | undefined> {
  let folder;
  try {
    folder = await open(full, FOLDER_FLAGS);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOTDIR') return undefined;
    throw fromErrno(error, 'open log folder', full);
  }
  try {
    const opened = `/proc/self/fd/${folder.fd}`;
    const [real, realRoot] = await Promise.all([readlink(opened), realpath(root)]);
    if (real !== path.join(realRoot, path.relative(root, full)))
      throw new KubeletError('Invalid', `${full}: is reached by a link`, { op: 'open log folder' });
    const entries = await readdir(opened, { withFileTypes: true });
    return {
      kind: 'folder',
      entries: entries
        .map((entry) => ({ name: entry.name, isFolder: entry.isDirectory() }))
        .sort((left, right) => (left.name < right.name ? -1 : 1)),
    };
  } catch (error) {
    throw fromErrno(error, 'read log folder', full);
  } finally {
    await folder.close();
  }
}
