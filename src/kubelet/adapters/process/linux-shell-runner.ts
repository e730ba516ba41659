// Runs frequent programs without a fork of the agent for each. A fork costs about 2 ms of processor time, in which the
// whole agent is blocked, and pages that must be copied. A shell is small, and forks in a tenth of that time.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { exitCodeOf, killGroup } from '../../../base/child-process.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { ChildResult } from './linux-killable.ts';
import { childEnvironment, runKillable } from './linux-killable.ts';

type RunOptions = Parameters<typeof runKillable>[2];

interface Job extends RunOptions {
  readonly program: string;
  readonly args: readonly string[];
  readonly resolve: (result: ChildResult) => void;
  readonly reject: (error: KubeletError) => void;
}

export interface ShellRunnerOptions {
  readonly shell?: string;
  /** How long a program may hold its slot. It may hang, and others must not wait for it. */
  readonly patienceMs?: number;
  /** How long an idle shell is kept. */
  readonly idleMs?: number;
}

/** The maximum number of concurrent shells, not counting those whose program is late. */
const MOST_AT_ONCE = 3;
const OUTPUT_LIMIT = 64 * 1024;
/** The exit codes for a program that was not found or cannot be executed. */
const notStarted = new Set([126, 127]);
const endPattern = /\0(\d+)\n$/;

/**
 * Does the same as runKillable, with a few shells that are kept for a while. Invariants:
 * 1. A shell runs one program at a time. A program that takes unusually long no longer counts, and waiting programs get
 *    another shell.
 * 2. At the deadline the shell is killed with its program, without waiting for it. `onExit` is called when the program
 *    has ended, because its end of the pipe then closes, however late that is.
 * 3. Arguments reach the program unchanged: in single quotes a shell interprets no character except the quote. All
 *    output of the program is its `stderr`, which must not contain NUL.
 */
export class ShellRunner {
  readonly #shell: string;
  readonly #patienceMs: number;
  readonly #idleMs: number;
  readonly #waiting: Job[] = [];
  readonly #idle: Shell[] = [];
  #working = 0;

  constructor({ shell = '/bin/sh', patienceMs = 200, idleMs = 10_000 }: ShellRunnerOptions = {}) {
    this.#shell = shell;
    this.#patienceMs = patienceMs;
    this.#idleMs = idleMs;
  }

  readonly run = (program: string, args: readonly string[], options: RunOptions): Promise<ChildResult> =>
    new Promise((resolve, reject) => {
      this.#waiting.push({ ...options, program, args, resolve, reject });
      this.#begin();
    });

  #begin(): void {
    while (this.#working < MOST_AT_ONCE) {
      const job = this.#waiting.shift();
      if (job === undefined) return;
      void this.#work(job);
    }
  }

  async #work(job: Job): Promise<void> {
    let isCounted = true;
    this.#working++;
    const giveUpPlace = (): void => {
      if (isCounted) this.#working--;
      isCounted = false;
      this.#begin();
    };
    const late = setTimeout(giveUpPlace, this.#patienceMs);
    const shell = this.#idle.pop() ?? new Shell(this.#shell, (gone) => this.#forget(gone));
    const end = await shell.run(job);
    clearTimeout(late);
    // Without a shell the program is run directly.
    if (end === 'no shell') await runKillable(job.program, job.args, job).then(job.resolve, job.reject);
    else if (end === 'ready') {
      this.#idle.push(shell);
      shell.rest(this.#idleMs);
    }
    giveUpPlace();
  }

  #forget(shell: Shell): void {
    const at = this.#idle.indexOf(shell);
    if (at >= 0) this.#idle.splice(at, 1);
  }
}

type End = 'ready' | 'gone' | 'no shell';

class Shell {
  readonly #child: ChildProcess;
  readonly #onGone: (shell: Shell) => void;
  #said = '';
  #isGone: 'no shell' | 'gone' | undefined;
  #onSaid: (() => void) | undefined;
  #onEnd: ((exitCode: number) => void) | undefined;
  #rest: NodeJS.Timeout | undefined;

  constructor(path: string, onGone: (shell: Shell) => void) {
    this.#onGone = onGone;
    this.#child = spawn(path, [], { detached: true, stdio: ['pipe', 'pipe', 'ignore'], env: childEnvironment });
    this.#child.on('error', () => this.#end('no shell', 1));
    this.#child.on('close', (exitCode, signal) => this.#end('gone', exitCodeOf(exitCode, signal)));
    // The shell ended, and `close` has the details.
    this.#child.stdin?.on('error', () => undefined);
    this.#child.stdout?.setEncoding('utf8').on('data', (text: string) => {
      this.#said = (this.#said + text).slice(-OUTPUT_LIMIT);
      this.#onSaid?.();
    });
  }

  run(job: Job): Promise<End> {
    clearTimeout(this.#rest);
    this.#said = '';
    return new Promise((done) => {
      const settle = (end: End): void => {
        clearTimeout(timer);
        this.#onSaid = this.#onEnd = undefined;
        done(end);
      };
      const timer = setTimeout(() => {
        settle('gone');
        this.#onEnd = () => job.onExit?.();
        this.#abandon();
        job.reject(new KubeletError('Timeout', `${job.op}: no answer within ${job.timeoutMs} ms`, { op: job.op }));
      }, job.timeoutMs);
      this.#onSaid = () => {
        const end = endPattern.exec(this.#said);
        if (end === null) return;
        settle('ready');
        job.onExit?.();
        answer(job, Number(end[1]), this.#said.slice(0, end.index));
      };
      this.#onEnd = (exitCode) => {
        if (this.#isGone === 'no shell') return settle('no shell');
        settle('gone');
        job.onExit?.();
        answer(job, exitCode, this.#said);
      };
      if (this.#isGone !== undefined) return this.#onEnd(1);
      this.#hold(true);
      this.#child.stdin?.write(
        `${[job.program, ...job.args].map(quoted).join(' ')} </dev/null 2>&1; printf '\\000%d\\n' $?\n`,
      );
    });
  }

  /** Keeps the shell for this time. It does not keep the process alive, and ends on its own. */
  rest(forMs: number): void {
    this.#hold(false);
    this.#rest = setTimeout(() => {
      this.#onGone(this);
      this.#child.stdin?.end();
    }, forMs).unref();
  }

  #abandon(): void {
    killGroup(this.#child);
    this.#hold(false);
    this.#child.stdin?.destroy();
  }

  #hold(holds: boolean): void {
    const how = holds ? 'ref' : 'unref';
    this.#child[how]();
    for (const stream of [this.#child.stdin, this.#child.stdout] as ({ ref?: () => void; unref?: () => void } | null)[])
      stream?.[how]?.();
  }

  #end(how: 'gone' | 'no shell', exitCode: number): void {
    this.#isGone ??= how;
    clearTimeout(this.#rest);
    this.#onGone(this);
    this.#onEnd?.(exitCode);
  }
}

function answer(job: Job, exitCode: number, said: string): void {
  if (notStarted.has(exitCode))
    job.reject(
      new KubeletError('Unavailable', `${job.op}: ${job.program} could not be started: ${said.trim()}`, { op: job.op }),
    );
  else job.resolve({ exitCode, stdout: '', stderr: said });
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`;
