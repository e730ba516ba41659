import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process';
import { KubeletError } from '../../../base/errors.ts';
import type { Processes } from '../../ports/processes.ts';
import { abandonChild, exitCodeOf, killGroup } from './linux-killable.ts';

type RunOptions = Parameters<Processes['run']>[2];

/**
 * Runs programs of the operator's. argv only, never a shell. The program leads a process group of its own, which is killed as a whole at the
 * deadline and when it writes more than it may, so that no grandchild is left behind; a child in uninterruptible sleep is not waited for.
 * `env` comes on top of the agent's own environment. Rejects with `Timeout`, `Invalid` (too much output) or `Unavailable` (cannot be started);
 * none of these texts holds stdin, output or environment. Killed by a signal counts as exit code 128 plus its number's usual 9.
 */
export const linuxProcesses: Processes = {
  run(program, args, options) {
    return new Promise((resolve, reject) => {
      let child: ChildProcessWithoutNullStreams;
      try {
        child = spawn(program, args, {
          detached: true,
          stdio: 'pipe',
          env: { ...process.env, ...options.env },
          ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
        });
      } catch (error) {
        reject(notStarted(program, error));
        return;
      }
      supervise(program, child, options, resolve, reject);
    });
  },
};

function supervise(
  program: string,
  child: ChildProcessWithoutNullStreams,
  options: RunOptions,
  resolve: (result: Awaited<ReturnType<Processes['run']>>) => void,
  reject: (error: KubeletError) => void,
): void {
  const end = (error: KubeletError): void => {
    clearTimeout(timer);
    abandonChild(child);
    reject(error);
  };
  const timer = setTimeout(
    () => end(new KubeletError('Timeout', `${program} did not end within ${options.timeoutMs} ms`, { op: 'run' })),
    options.timeoutMs,
  );
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const sizes = { stdout: 0, stderr: 0 };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].on('data', (chunk: Buffer) => {
      sizes[name] += chunk.length;
      if (sizes[name] > options.outputLimitBytes)
        end(
          new KubeletError('Invalid', `${program} wrote more than ${options.outputLimitBytes} bytes to its ${name}`, {
            op: 'run',
          }),
        );
      else output[name].push(chunk);
    });
  }
  child.on('error', (error) => {
    clearTimeout(timer);
    reject(notStarted(program, error));
  });
  // `exit`, not `close`: a grandchild that keeps the pipes open must not hold the caller. What was written before the exit is still read.
  child.on('exit', (code, signal) => {
    clearTimeout(timer);
    const finish = (): void => {
      resolve({
        exitCode: exitCodeOf(code, signal),
        stdout: Buffer.concat(output.stdout).toString('utf8'),
        stderr: Buffer.concat(output.stderr).toString('utf8'),
      });
    };
    const lingering = setTimeout(() => {
      killGroup(child);
      finish();
    }, PIPE_GRACE_MS);
    child.once('close', () => {
      clearTimeout(lingering);
      finish();
    });
  });
  // A program that does not read its input is no error.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.stdin ?? '');
}

const PIPE_GRACE_MS = 1000;

function notStarted(program: string, error: unknown): KubeletError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  return new KubeletError(code === 'ENOENT' ? 'NotFound' : 'Unavailable', `${program} could not be started: ${code}`, {
    op: 'run',
  });
}
