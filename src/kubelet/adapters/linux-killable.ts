import { spawn, type ChildProcess } from 'node:child_process';
import { KubeletError } from '../../base/errors.ts';

export interface ChildResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/**
 * Runs a program that may get stuck in the kernel (on a dead NFS server, a wedged FUSE daemon). At the deadline it is killed and the caller gets
 * `Timeout` at once, without waiting for the child to go: a process in uninterruptible sleep dies only when the server is back.
 * That is the point of using a child: what is stuck is its one thread, not one of the agent's few. argv only, never a shell; fixed environment.
 */
export function runKillable(program: string, args: readonly string[], options: { timeoutMs: number; op: string; onExit?: () => void }): Promise<ChildResult> {
  return new Promise((resolve, reject) => {
    // A group of its own: mount(8) waits for a helper such as mount.nfs, which must go with it.
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } });
    const output = { stdout: '', stderr: '' };
    const collect = (name: 'stdout' | 'stderr') => (chunk: Buffer) => {
      if (output[name].length < OUTPUT_LIMIT) output[name] += chunk.toString('utf8');
    };
    child.stdout.on('data', collect('stdout'));
    child.stderr.on('data', collect('stderr'));
    const timer = setTimeout(() => {
      killGroup(child);
      child.unref();
      child.stdout.destroy();
      child.stderr.destroy();
      reject(new KubeletError('Timeout', `${options.op}: no answer within ${options.timeoutMs} ms`, { op: options.op }));
    }, options.timeoutMs);
    child.on('error', (error) => {
      clearTimeout(timer);
      options.onExit?.();
      reject(new KubeletError('Unavailable', `${options.op}: ${program} could not be started: ${error.message}`, { op: options.op, cause: error }));
    });
    child.on('exit', () => options.onExit?.());
    child.on('close', (exitCode, signal) => {
      clearTimeout(timer);
      resolve({ exitCode: exitCode ?? (signal === null ? 1 : 137), ...output });
    });
  });
}

const OUTPUT_LIMIT = 1024 * 1024;

function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    child.kill('SIGKILL');
  }
}
