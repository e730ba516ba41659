// Programs that `npm run test:vm` needs: whether they are there, and running them with a time limit.
import { spawn } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import path from 'node:path';

/** Each program with the Debian package that has it. */
const debianPackageOf = {
  'qemu-system-x86_64': 'qemu-system-x86',
  mmdebstrap: 'mmdebstrap',
  mke2fs: 'e2fsprogs',
  'apt-get': 'apt',
} as const;
export type VmProgram = keyof typeof debianPackageOf;

const SEARCH_PATH = `${process.env['PATH'] ?? ''}:/usr/local/sbin:/usr/sbin:/sbin`;

function isThere(program: string): boolean {
  return SEARCH_PATH.split(':')
    .filter((folder) => path.isAbsolute(folder))
    .some((folder) => {
      try {
        accessSync(path.join(folder, program), constants.X_OK);
        return true;
      } catch {
        return false;
      }
    });
}

/** What to install for these programs to be there; undefined when they are. */
export function missingPrograms(programs: readonly VmProgram[], has = isThere): string | undefined {
  const missing = programs.filter((program) => !has(program));
  if (missing.length === 0) return undefined;
  const packages = missing.map((program) => debianPackageOf[program]);
  return `${missing.join(' and ')} not found: apt-get install --no-install-recommends ${packages.join(' ')}`;
}

export interface ProgramLimits {
  readonly timeoutMs: number;
  /** Ends the program, as the time limit does. */
  readonly signal: AbortSignal;
}

/**
 * Runs it to its end and returns what it wrote to standard output. A time limit, a signal and any exit code but 0 are
 * errors that have the end of what it wrote to standard error.
 */
export function runProgram(argv: readonly string[], { timeoutMs, signal }: ProgramLimits): Promise<string> {
  const [program = '', ...args] = argv;
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, PATH: SEARCH_PATH, LC_ALL: 'C.UTF-8' },
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    });
    let output = '';
    let errors = '';
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors += text));
    let failure: Error | undefined;
    child.on('error', (error) => (failure = error));
    // Not before its end: what it works on is removed afterwards.
    child.on('close', (code, killedBy) => {
      if (code === 0 && failure === undefined) return resolve(output);
      const how = failure?.name === 'AbortError' ? 'was ended' : (failure?.message ?? `ended with ${code ?? killedBy}`);
      reject(new Error(`${program} ${how}: ${errors.trim().slice(-2000)}`, { cause: failure }));
    });
  });
}
