import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { abandonChild, exitCodeOf, killGroup, releaseChild } from './child-process.ts';
import { KubeletError } from './errors.ts';

export interface RunProgramOptions {
  readonly stdin?: string;
  /** All of it: nothing is inherited. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** Of each of the two outputs. */
  readonly outputLimitBytes: number;
  readonly cwd?: string;
}

export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** How long what was written before the end of a program may take to arrive while its children still hold the pipes. */
const PIPE_GRACE_MS = 1000;

/**
 * Runs a program to its end. argv only, never a shell.
 * 1. The program leads a process group of its own, which is killed as a whole at the deadline and when it writes more
 *    than it may; a child in uninterruptible sleep is not waited for.
 * 2. Its end counts, not that of its pipes: children that keep them open are killed after a second. What has left the
 *    group lives on, without a reader.
 * 3. Rejects with `Timeout`, `Invalid` (too much output, or words that no program can be given), `NotFound` or
 *    `Unavailable` (cannot be started). None of these texts holds arguments, input, output or environment. Killed by a
 *    signal counts as exit code 137.
 */
export function runProgram(
  program: string,
  args: readonly string[],
  options: RunProgramOptions,
): Promise<ProgramResult> {
  return new Promise((resolve, reject) => {
    let child: ChildProcessWithoutNullStreams;
    try {
      child = spawn(program, args, {
        detached: true,
        stdio: 'pipe',
        env: options.env,
        ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
      });
    } catch (error) {
      reject(notStarted(program, error));
      return;
    }
    supervise(program, child, options, resolve, reject);
  });
}

function supervise(
  program: string,
  child: ChildProcessWithoutNullStreams,
  options: RunProgramOptions,
  resolve: (result: ProgramResult) => void,
  reject: (error: KubeletError) => void,
): void {
  const output = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const sizes = { stdout: 0, stderr: 0 };
  let isOver = false;
  const end = (error: KubeletError): void => {
    isOver = true;
    clearTimeout(timer);
    abandonChild(child);
    reject(error);
  };
  const timer = setTimeout(
    () => end(new KubeletError('Timeout', `${program} did not end within ${options.timeoutMs} ms`, { op: 'run' })),
    options.timeoutMs,
  );
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
  child.on('exit', (code, signal) => {
    clearTimeout(timer);
    if (isOver) return;
    const lingering = setTimeout(() => {
      killGroup(child);
      // What left the group and holds the pipes must not hold descriptors of this process for as long as it lives.
      releaseChild(child);
    }, PIPE_GRACE_MS);
    child.once('close', () => {
      clearTimeout(lingering);
      if (!isOver)
        resolve({
          exitCode: exitCodeOf(code, signal),
          stdout: Buffer.concat(output.stdout).toString('utf8'),
          stderr: Buffer.concat(output.stderr).toString('utf8'),
        });
    });
  });
  // A program that does not read its input is no error.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.stdin ?? '');
}

function notStarted(program: string, error: unknown): KubeletError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  const kind = code === 'ENOENT' ? 'NotFound' : code.startsWith('ERR_INVALID_ARG') ? 'Invalid' : 'Unavailable';
  return new KubeletError(kind, `${program} could not be started: ${code}`, { op: 'run' });
}
