/** Runs programs of the machine with argument lists, never through a shell. */
import { spawn } from 'node:child_process';
import { KubeletError } from '../base/errors.ts';
import { programEnvironment } from '../base/program-environment.ts';

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * The environment for programs of the machine and for our own. Debian installs iptables, runc and ip in sbin, which a
 * plain `su` leaves out of PATH. Variables that change what Node runs, and those that npm adds for scripts, are
 * removed: under sudo they may come from another user.
 */
export function machineEnvironment(own: NodeJS.ProcessEnv = process.env): NodeJS.ProcessEnv {
  return programEnvironment(
    { ...own, PATH: `${own['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin` },
    { LC_ALL: 'C' },
  );
}

/**
 * Runs to the end. A program that does not exist throws `NotFound`; an exit code other than 0 is an answer, not an
 * error.
 */
export function tryCommand(argv: readonly string[], input?: Buffer): Promise<CommandResult> {
  const [program = '', ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], env: machineEnvironment() });
    let stdout = '';
    let stderr = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (stdout += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    child.on('error', (cause: NodeJS.ErrnoException) =>
      reject(
        new KubeletError(cause.code === 'ENOENT' ? 'NotFound' : 'Internal', `cannot run ${program}: ${cause.message}`, {
          op: program,
          cause,
        }),
      ),
    );
    child.on('close', (code, signal) =>
      resolve({ code: code ?? 128, stdout, stderr: signal === null ? stderr : `${stderr} (killed by ${signal})` }),
    );
    // A program that ends without reading its input breaks the pipe. Its exit code is more useful than that error.
    child.stdin.on('error', () => child.stdin.destroy());
    child.stdin.end(input);
  });
}

/**
 * Runs to the end and returns the output. Throws `Internal` with the program's error output for any exit code but 0.
 */
export async function runCommand(argv: readonly string[], input?: Buffer): Promise<string> {
  const result = await tryCommand(argv, input);
  if (result.code !== 0)
    throw new KubeletError(
      'Internal',
      `${argv.slice(0, 6).join(' ')} failed (${result.code}): ${result.stderr.trim().slice(-600)}`,
      { op: argv[0] },
    );
  return result.stdout;
}
