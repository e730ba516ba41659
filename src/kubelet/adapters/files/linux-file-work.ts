import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { abandonChild } from '../../../base/child-process.ts';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import { LineSplitter } from '../../../base/line-splitter.ts';
import type { OwnershipOutcome } from '../../ports/host-files.ts';
import type { BindBeneathResult, SubPathMount } from '../../ports/mounts.ts';
import { childEnvironment } from '../process/linux-killable.ts';

export type FileRequest =
  | { op: 'giveToGroup'; path: string; gid: number; readOnly: boolean }
  | { op: 'removeTree'; path: string }
  | { op: 'bindBeneath'; mount: SubPathMount };

export type FileAnswer =
  | { op: 'giveToGroup'; outcome: OwnershipOutcome }
  | { op: 'removeTree' }
  | { op: 'bindBeneath'; result: BindBeneathResult }
  | { op: 'failed'; kind: ErrorKind; message: string };

type AnswerOf<K extends FileRequest['op']> = Extract<FileAnswer, { op: K }>;

export interface FileWorkOptions {
  /** The child is killed when it has sent nothing for this long. */
  readonly silenceMs: number;
  readonly onProgress?: (entries: number) => void;
  /** The child has ended, possibly long after its deadline. */
  readonly onExit?: () => void;
}

/** Next to the bundle it is a bundle too. */
const SCRIPT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './linux-file-child.ts' : './linux-file-child.js', import.meta.url),
);

/**
 * At most a few such processes run; further work waits. One that is past its deadline holds no slot, however long the
 * kernel keeps it.
 */
export class FileWork {
  readonly #atOnce: number;
  readonly #waiting: (() => void)[] = [];
  #running = 0;

  constructor(atOnce: number) {
    this.#atOnce = atOnce;
  }

  async run<K extends FileRequest['op']>(
    request: Extract<FileRequest, { op: K }>,
    options: FileWorkOptions,
  ): Promise<AnswerOf<K>> {
    if (this.#running >= this.#atOnce) await new Promise<void>((resolve) => this.#waiting.push(resolve));
    else this.#running++;
    try {
      return await startWork<K>(request, options);
    } finally {
      // A slot is passed on directly, so that no other caller takes it in between.
      const next = this.#waiting.shift();
      if (next === undefined) this.#running--;
      else next();
    }
  }
}

/**
 * File work in a separate process: work that would hang on a dead mount, and work too large for the agent's own thread.
 * It costs about 60 ms and 90 MB (half of it shared) while it runs, so small work on local disks is not done here.
 * Rejects with `Timeout` when the process sends nothing more; as with runKillable, a process that the kernel cannot
 * kill is not awaited. Its own children are in its process group and are killed with it.
 */
function startWork<K extends FileRequest['op']>(
  request: Extract<FileRequest, { op: K }>,
  options: FileWorkOptions,
): Promise<AnswerOf<K>> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [...nodeFlags, SCRIPT, JSON.stringify(request)], {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
      env: { ...childEnvironment, UV_THREADPOOL_SIZE: '1' },
    });
    const lines = { stdout: new LineSplitter(), stderr: '', last: undefined as FileAnswer | undefined };
    const fail = (kind: ErrorKind, message: string): void =>
      reject(new KubeletError(kind, `${request.op}: ${message}`, { op: request.op }));
    const giveUp = (): void => {
      abandonChild(child);
      fail('Timeout', `no answer within ${options.silenceMs} ms`);
    };
    let timer = setTimeout(giveUp, options.silenceMs);
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      clearTimeout(timer);
      timer = setTimeout(giveUp, options.silenceMs);
      for (const line of lines.stdout.push(text)) {
        const said = JSON.parse(line) as FileAnswer | { progress: number };
        if ('progress' in said) options.onProgress?.(said.progress);
        else lines.last = said;
      }
    });
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      if (lines.stderr.length < STDERR_LIMIT) lines.stderr += text;
    });
    child.on('error', (error) => {
      clearTimeout(timer);
      options.onExit?.();
      fail('Unavailable', `no process could be started: ${error.message}`);
    });
    child.on('exit', () => options.onExit?.());
    child.on('close', (exitCode, signal) => {
      clearTimeout(timer);
      const { last } = lines;
      if (last?.op === request.op) resolve(last as AnswerOf<K>);
      else if (last?.op === 'failed') reject(new KubeletError(last.kind, last.message, { op: request.op }));
      else fail('Internal', `its process ended without an answer (${signal ?? exitCode}): ${lines.stderr.trim()}`);
    });
  });
}

/** Optimized for size rather than speed: it mostly waits for the disk. */
const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--no-concurrent-sparkplug',
  '--optimize-for-size',
  '--max-semi-space-size=1',
  '--max-old-space-size=64',
];
const STDERR_LIMIT = 16 * 1024;
