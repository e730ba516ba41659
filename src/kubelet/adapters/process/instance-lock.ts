import { createHash, randomBytes } from 'node:crypto';
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import net from 'node:net';
import path from 'node:path';
import { errnoOf, KubeletError } from '../../../base/errors.ts';

/**
 * Ensures that at most one agent works on a root directory. The lock is a socket in the kernel's abstract namespace: it
 * is taken atomically, leaves no file, and is released when the process ends, even by kill -9. Its name comes from a
 * secret that only root can read, so that no other process can block it. Rejects with `AlreadyExists` if another
 * process holds it.
 */
export function takeInstanceLock(rootDir: string): Promise<{ release: () => void }> {
  const name = `\0kubelet-ts/${createHash('sha256').update(readSecret(rootDir)).digest('hex').slice(0, 32)}`;
  return new Promise((resolve, reject) => {
    const server = net.createServer((connection) => connection.destroy());
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE')
        reject(
          new KubeletError(
            'AlreadyExists',
            `another agent is already running on ${rootDir}; stop it first, or give this one a folder of its own with --root-dir`,
            { op: 'lock' },
          ),
        );
      else
        reject(
          new KubeletError('Internal', `the lock on ${rootDir} cannot be taken: ${error.message}`, {
            op: 'lock',
            cause: error,
          }),
        );
    });
    server.listen(name, () => {
      server.unref();
      resolve({ release: () => server.close() });
    });
  });
}

const secretPattern = /^[0-9a-f]{32}$/;

/**
 * Reads the secret, which the first agent on this directory creates. If two start at the same time, the slower one
 * reads what the faster one wrote.
 */
function readSecret(rootDir: string): string {
  const file = path.join(rootDir, 'agent-state', 'lock-name');
  try {
    // It is read before anything is written, because an agent must be able to restart on a full disk.
    const known = readIfThere(file);
    if (known !== undefined && secretPattern.test(known)) return known;
    mkdirSync(rootDir, { recursive: true, mode: 0o750 });
    mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
    const secret = randomBytes(16).toString('hex');
    const own = `${file}.${secret}`;
    try {
      // The file is complete before it gets its name, so that no other agent reads half a secret.
      writeFileSync(own, secret, { mode: 0o600 });
      // A damaged file is replaced. The link step never replaces a file that another agent created meanwhile.
      if (known === undefined) linkSync(own, file);
      else renameSync(own, file);
    } catch (error) {
      if (errnoOf(error) !== 'EEXIST') throw error;
    } finally {
      rmSync(own, { force: true });
    }
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new KubeletError('Unavailable', `the root directory ${rootDir} cannot be used: ${(error as Error).message}`, {
      op: 'lock',
      cause: error,
    });
  }
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (errnoOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
