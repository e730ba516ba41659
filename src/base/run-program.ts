import type { ChildProcessWithoutNullStreams } from 'node:child_process';
import { spawn } from 'node:child_process';
import { abandonChild, exitCodeOf, killGroup, releaseChild } from './child-process.ts';
import { KubeletError } from './errors.ts';

export interface RunProgramOptions {
  readonly stdin?: string;
  /** The complete environment; nothing is inherited. */
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly timeoutMs: number;
  /** The limit of each of the two outputs. */
  readonly outputLimitBytes: number;
  readonly cwd?: string;
}

export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The time for output to arrive after the program ended while its children still hold the pipes. */
const PIPE_GRACE_MS = 1000;

/**
 * Runs a program to its end, with argv only and never a shell.
 * 1. The program leads its own process group, which is killed as a whole at the deadline and when it exceeds its output
 *    limit. A child in uninterruptible sleep is not awaited.
 * 2. The end of the program counts, not that of its pipes: children that keep them open are killed after a second. A
 *    process that has left the group keeps running, without a reader.
 * 3. It rejects with `Timeout`, `Invalid` (too much output, or arguments that cannot be passed), `NotFound` or
 *    `Unavailable` (cannot be started). None of these texts contains arguments, input, output or environment. An end by
 *    a signal counts as exit code 137.
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
      // A process that left the group and holds the pipes must not keep descriptors of this process open.
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
  // It is no error if a program does not read its input.
  child.stdin.on('error', () => undefined);
  child.stdin.end(options.stdin ?? '');
}

function notStarted(program: string, error: unknown): KubeletError {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown error';
  const kind = code === 'ENOENT' ? 'NotFound' : code.startsWith('ERR_INVALID_ARG') ? 'Invalid' : 'Unavailable';
  return new KubeletError(kind, `${program} could not be started: ${code}`, { op: 'run' });
}
