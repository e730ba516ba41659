// Runs children for work that may hang in the kernel: on a dead NFS server, a hung FUSE daemon, or a disk that does not
// respond. Then only the thread of a child hangs, and not one of the agent's few. The same rules apply to all of them:
// there is a deadline, a child that the kernel cannot kill is not awaited, and its work is not retried before it has
// ended, so that retries do not accumulate processes.
import { spawn } from 'node:child_process';
import { abandonChild, exitCodeOf } from '../../../base/child-process.ts';
import { isKind, KubeletError } from '../../../base/errors.ts';

export interface ChildResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The environment without the agent's own variables. `LC_ALL=C` keeps error messages stable. */
export const childEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } as const;

const OUTPUT_LIMIT = 1024 * 1024;

/**
 * Runs a program that may hang. At the deadline it is killed, and the caller gets `Timeout` immediately, because a
 * process in uninterruptible sleep ends only when the server is available again. Rejects with `Unavailable` if it
 * cannot be started. It uses no shell.
 */
export function runKillable(
  program: string,
  args: readonly string[],
  options: { timeoutMs: number; op: string; onExit?: () => void },
): Promise<ChildResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: childEnvironment });
    const output = { stdout: '', stderr: '' };
    const collect = (name: 'stdout' | 'stderr') => (chunk: Buffer) => {
      if (output[name].length < OUTPUT_LIMIT) output[name] += chunk.toString('utf8');
    };
    child.stdout.on('data', collect('stdout'));
    child.stderr.on('data', collect('stderr'));
    const timer = setTimeout(() => {
      abandonChild(child);
      reject(
        new KubeletError('Timeout', `${options.op}: no answer within ${options.timeoutMs} ms`, { op: options.op }),
      );
    }, options.timeoutMs);
    child.on('error', (error) => {
      clearTimeout(timer);
      options.onExit?.();
      reject(
        new KubeletError('Unavailable', `${options.op}: ${program} could not be started: ${error.message}`, {
          op: options.op,
          cause: error,
        }),
      );
    });
    child.on('exit', () => options.onExit?.());
    child.on('close', (exitCode, signal) => {
      clearTimeout(timer);
      resolve({ exitCode: exitCodeOf(exitCode, signal), ...output });
    });
  });
}

/** Tracks children that are past their deadline and still exist, by the subject of their work. */
export class StuckChildren {
  readonly #counts = new Map<string, number>();

  has(subject: string): boolean {
    return this.#counts.has(subject);
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /**
   * Runs `work`, which must call `onExit` when its child has ended. If it rejects with `Timeout` before, `subject` is
   * stuck until then.
   */
  async watch<T>(subject: string, work: (onExit: () => void) => Promise<T>): Promise<T> {
    let isStuck = false;
    const onExit = (): void => {
      if (isStuck) this.#add(subject, -1);
    };
    try {
      return await work(onExit);
    } catch (error) {
      if (isKind(error, 'Timeout')) {
        isStuck = true;
        this.#add(subject, 1);
      }
      throw error;
    }
  }

  #add(subject: string, change: number): void {
    const count = (this.#counts.get(subject) ?? 0) + change;
    if (count > 0) this.#counts.set(subject, count);
    else this.#counts.delete(subject);
  }
}
