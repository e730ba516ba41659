// Children for work that may hang in the kernel: on a dead NFS server, a hung FUSE daemon, a disk that does not
// respond. Then only the thread of a child is stuck, not one of the agent's few. The rules are the same for all of
// them: there is a deadline, a child that the kernel cannot kill is not awaited, and its work is not retried before it
// is gone, so that retries do not accumulate processes.
import { spawn } from 'node:child_process';
import { abandonChild, exitCodeOf } from '../../../base/child-process.ts';
import { isKind, KubeletError } from '../../../base/errors.ts';

export interface ChildResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Without the agent's own environment; `LC_ALL=C` keeps error messages stable. */
export const childEnvironment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } as const;

const OUTPUT_LIMIT = 1024 * 1024;

/**
 * Runs a program that may hang. At the deadline it is killed and the caller gets `Timeout` at once, without waiting for
 * the child's exit: a process in uninterruptible sleep dies only when the server is back. `Unavailable` when it cannot
 * be started. argv only, never a shell.
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

/** Children that are past their deadline and still exist, by the subject of their work. */
export class StuckChildren {
  readonly #counts = new Map<string, number>();

  has(subject: string): boolean {
    return this.#counts.has(subject);
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /**
   * Runs `work`, which must call `onExit` once its child is gone. When it rejects with `Timeout` before that, `subject`
   * is stuck until then.
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
