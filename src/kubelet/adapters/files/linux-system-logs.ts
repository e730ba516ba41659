import type { Dirent } from 'node:fs';
import { constants } from 'node:fs';
import { open, opendir, readlink, realpath } from 'node:fs/promises';
import path from 'node:path';
import { errnoOf, KubeletError } from '../../../base/errors.ts';
import type { SystemLogEntry, SystemLogs } from '../../ports/system-logs.ts';
import { fromErrno } from '../linux-errors.ts';
import { linuxLogFiles } from './linux-log-files.ts';

const FOLDER_FLAGS = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** The maximum number of entries of a folder, because a pod that can write to the logs can create any number. */
const MOST_ENTRIES = 10_000;

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

/** Opens a folder; undefined if it is not one. As for files, the kernel is asked after the open where it is. */
async function openFolder(root: string, full: string): Promise<SystemLogEntry | undefined> {
  let folder;
  try {
    folder = await open(full, FOLDER_FLAGS);
  } catch (error) {
    if (errnoOf(error) === 'ENOTDIR') return undefined;
    throw fromErrno(error, 'open log folder', full);
  }
  try {
    const opened = `/proc/self/fd/${folder.fd}`;
    const [real, realRoot] = await Promise.all([readlink(opened), realpath(root)]);
    if (real !== path.join(realRoot, path.relative(root, full)))
      throw new KubeletError('Invalid', `${full}: its path contains a symbolic link`, { op: 'open log folder' });
    const entries: Dirent[] = [];
    for await (const entry of await opendir(opened)) {
      entries.push(entry);
      if (entries.length === MOST_ENTRIES) break;
    }
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
