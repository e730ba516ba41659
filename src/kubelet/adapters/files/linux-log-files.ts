import { constants } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { open, readlink, realpath } from 'node:fs/promises';
import { KubeletError } from '../../../base/errors.ts';
import type { LogFile, LogFiles } from '../../ports/log-files.ts';
import { fromErrno } from '../linux-errors.ts';

// With O_NONBLOCK, opening a named pipe does not block a thread.
const FLAGS = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/**
 * Opens log files. O_NOFOLLOW protects only the last component. For the others, the kernel is asked after the open
 * where the file really is (/proc/self/fd), which has no race. A rename in the meantime stays within the folder.
 */
export const linuxLogFiles: LogFiles = {
  async open(path, beneath) {
    let file: FileHandle | undefined;
    try {
      file = await open(path, FLAGS);
      const info = await file.stat();
      if (!info.isFile()) throw new KubeletError('Invalid', `${path}: is not a regular file`, { op: 'open log' });
      const [real, root] = await Promise.all([readlink(`/proc/self/fd/${file.fd}`), realpath(beneath)]);
      if (!real.startsWith(`${root}/`))
        throw new KubeletError('Invalid', `${path}: is not below ${beneath}`, { op: 'open log' });
      return logFile(file, path, info.ino);
    } catch (error) {
      await file?.close();
      throw fromErrno(error, 'open log', path);
    }
  },
};

function logFile(file: FileHandle, path: string, inode: number): LogFile {
  return {
    inode,
    sizeBytes: async () => (await file.stat()).size,
    async read(offsetBytes, lengthBytes) {
      try {
        const { bytesRead, buffer } = await file.read(Buffer.allocUnsafe(lengthBytes), 0, lengthBytes, offsetBytes);
        return buffer.subarray(0, bytesRead);
      } catch (error) {
        throw fromErrno(error, 'read log', path);
      }
    },
    close: () => file.close(),
  };
}
