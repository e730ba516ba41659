import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, openSync, readFileSync, statSync, watch } from 'node:fs';
import { KubeletError } from '../../../base/errors.ts';
import { childEnvironment } from './linux-killable.ts';

export interface LockFile {
  /** Resolves when another process waits for the lock, or the file is removed. */
  readonly contended: Promise<void>;
  release(): void;
}

const CONTENTION_PERIOD_MS = 1000;
/** The size limit of /proc/locks, which has about 60 bytes for each lock of the machine. */
const LOCKS_LIMIT = 1 << 20;

/**
 * Waits for the exclusive lock (flock) on a file, which it creates if needed, and holds it until `release` or the end
 * of this process (upstream: --lock-file, pkg/util/flock). Node has no flock, so the program of that name holds it, and
 * ends when its input does. Rejects with Unavailable if the file or the program cannot be used.
 */
export async function takeLockFile(path: string, abort?: AbortSignal): Promise<LockFile> {
  try {
    closeSync(openSync(path, 'a', 0o600));
  } catch (error) {
    throw new KubeletError('Unavailable', `unable to acquire file lock on "${path}": ${String(error)}`, {
      cause: error,
    });
  }
  const child = spawn('flock', ['--exclusive', '--no-fork', path, 'cat'], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
    env: childEnvironment,
  });
  const release = (): void => void child.stdin.end();
  abort?.addEventListener('abort', () => child.kill('SIGKILL'), { once: true });
  child.stdin.on('error', () => undefined);
  await new Promise<void>((resolve, reject) => {
    const fail = (why: string): void =>
      reject(new KubeletError('Unavailable', `unable to acquire file lock on "${path}": ${why}`, { op: 'lock' }));
    child.once('error', (error) => fail(error.message));
    child.once('exit', (code, signal) => fail(`flock ended with ${code ?? signal}`));
    child.stdout.once('data', () => resolve());
    child.stdin.write('locked\n');
  });
  unref(child);
  return { contended: contention(path), release };
}

/** The lock does not keep the process alive. */
function unref(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout])
    if (stream !== null && 'unref' in stream && typeof stream.unref === 'function') stream.unref();
}

/**
 * Resolves when there is contention. Upstream waits for another process to open the file, which Node cannot watch. The
 * kernel lists the processes that wait for the lock.
 */
function contention(path: string): Promise<void> {
  const inode = statSync(path).ino;
  return new Promise((resolve) => {
    const end = (): void => {
      clearInterval(timer);
      watcher?.close();
      resolve();
    };
    const isGone = (): boolean => {
      try {
        return statSync(path).ino !== inode;
      } catch {
        return true;
      }
    };
    const timer = setInterval(() => {
      if (isGone() || hasWaiter(readLocks(), inode)) end();
    }, CONTENTION_PERIOD_MS);
    timer.unref();
    const watcher = watchQuietly(path, () => {
      if (isGone()) end();
    });
  });
}

function watchQuietly(path: string, onChange: () => void): { close(): void } | undefined {
  try {
    return watch(path, { persistent: false }, onChange).on('error', () => undefined);
  } catch {
    return undefined; // return undefined; // The periodic check is sufficient.
  }
}

function readLocks(): string {
  try {
    return readFileSync('/proc/locks', 'utf8').slice(0, LOCKS_LIMIT);
  } catch {
    return '';
  }
}

/** Whether a process waits for the lock, as in `5: -> FLOCK  ADVISORY  WRITE 1234 fe:00:2172721 0 EOF`. */
export function hasWaiter(locks: string, inode: number): boolean {
  return locks.split('\n').some((line) => /^\d+: +-> FLOCK /.test(line) && line.includes(`:${inode} `));
}
