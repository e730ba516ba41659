// Children for work that may hang in the kernel: on a dead NFS server, a wedged FUSE daemon, a disk that does not answer. What is stuck is then the
// one thread of a child, not one of the agent's few. The rules are the same for all of them: a deadline, nobody waits for a child that the kernel
// does not let die, and what it worked on is not tried again before it is gone, so that retries do not pile up processes.
import { spawn, type ChildProcess } from 'node:child_process';
import { isKind, KubeletError } from '../../../base/errors.ts';

export interface ChildResult {
  exitCode: number;
  stdout: string;
  stderr: string;
}

/** Nothing of the agent's own environment; `LC_ALL=C` keeps the words of errors stable. */
export const CHILD_ENVIRONMENT = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LC_ALL: 'C' } as const;

/** What a child that was killed by a signal counts as: 128 plus SIGKILL, which is what it mostly was. */
const KILLED = 137;
const OUTPUT_LIMIT = 1024 * 1024;

/**
 * Runs a program that may get stuck. At the deadline it is killed and the caller gets `Timeout` at once, without waiting for the child to go: a
 * process in uninterruptible sleep dies only when the server is back. `Unavailable` when it cannot be started. argv only, never a shell.
 */
export function runKillable(
  program: string,
  args: readonly string[],
  options: { timeoutMs: number; op: string; onExit?: () => void },
): Promise<ChildResult> {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { detached: true, stdio: ['ignore', 'pipe', 'pipe'], env: CHILD_ENVIRONMENT });
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

export function exitCodeOf(exitCode: number | null, signal: NodeJS.Signals | null): number {
  return exitCode ?? (signal === null ? 1 : KILLED);
}

/** Kills what can be killed and waits for nothing: neither the process nor its pipes keep the agent. For children started `detached`. */
export function abandonChild(child: ChildProcess): void {
  killGroup(child);
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy();
}

/** Children started `detached` lead a group of their own: mount(8) waits for a helper such as mount.nfs, which must go with it. */
export function killGroup(child: ChildProcess): void {
  if (child.pid === undefined) return;
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The group is gone already, and then this does nothing.
    child.kill('SIGKILL');
  }
}

/** Children that are past their deadline and not gone yet, by what they work on. */
export class StuckChildren {
  readonly #counts = new Map<string, number>();

  has(subject: string): boolean {
    return this.#counts.has(subject);
  }

  get total(): number {
    return [...this.#counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Runs `work`, which must call `onExit` once its child is gone. When it rejects with `Timeout` before that, `subject` is stuck until then. */
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
