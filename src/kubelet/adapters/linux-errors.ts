import { lookupTable } from '../../base/lookup.ts';
import type { ErrorKind } from '../../base/errors.ts';
import { errnoOf, errorMessage, KubeletError } from '../../base/errors.ts';

/** The kinds by errno. All others are `Internal`. */
const KINDS: Readonly<Record<string, readonly [ErrorKind, string]>> = lookupTable({
  ENOENT: ['NotFound', 'no such file or directory'],
  EEXIST: ['AlreadyExists', 'file exists'],
  ENOTEMPTY: ['Conflict', 'directory not empty'],
  EBUSY: ['Conflict', 'device or resource busy'],
  ENOTDIR: ['NotFound', 'a part of the path is not a directory'],
  EISDIR: ['Invalid', 'is a directory'],
  ELOOP: ['Invalid', 'is a symbolic link, or the path has too many symbolic links'],
  ENAMETOOLONG: ['Invalid', 'file name too long'],
  EINVAL: ['Invalid', 'invalid argument'],
  EXDEV: ['Invalid', 'cannot be moved to another file system'],
  ENOSPC: ['Unavailable', 'no space left on device'],
  EDQUOT: ['Unavailable', 'disk quota exceeded'],
  EROFS: ['Unavailable', 'read-only file system'],
  EIO: ['Unavailable', 'input/output error'],
  EMFILE: ['Unavailable', 'too many open files in this process'],
  ENFILE: ['Unavailable', 'too many open files on this host'],
  ENOMEM: ['Unavailable', 'out of memory'],
  EAGAIN: ['Unavailable', 'resource temporarily unavailable'],
  ESTALE: ['Unavailable', 'stale file handle'],
  ENOTCONN: ['Unavailable', 'the file system is not connected'],
  EHOSTDOWN: ['Unavailable', 'the file server is down'],
  ETIMEDOUT: ['Timeout', 'the file server did not answer'],
  EPERM: ['Internal', 'operation not permitted'],
  EACCES: ['Internal', 'permission denied'],
});

/** Converts an errno to an ErrorKind. This is the only place that does so. A KubeletError passes unchanged. */
export function fromErrno(error: unknown, op: string, path: string): KubeletError {
  if (error instanceof KubeletError) return error;
  const code = errnoOf(error);
  const known = code === undefined ? undefined : KINDS[code];
  if (known === undefined)
    return new KubeletError('Internal', `${op} ${path}: ${errorMessage(error)}`, {
      op,
      cause: error,
    });
  return new KubeletError(known[0], `${op} ${path}: ${known[1]}`, { op, cause: error });
}
