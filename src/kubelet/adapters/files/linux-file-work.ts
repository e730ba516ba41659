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
  /** How long the child may send nothing before it is killed. */
  readonly silenceMs: number;
  readonly onProgress?: (entries: number) => void;
  /** Called when the child has ended, possibly long after its deadline. */
  readonly onExit?: () => void;
}

/** The script is a bundle if this module is in the bundle. */
const SCRIPT = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './linux-file-child.ts' : './linux-file-child.js', import.meta.url),
);

/**
 * Limits the number of such processes; further work waits. A process that is past its deadline holds no slot, even
 * while the kernel cannot end it.
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
 * Runs file work in a separate process, if it could hang on a dead mount or is too large for the agent's own thread.
 * The process costs about 60 ms and 90 MB (half of it shared), so small work on local disks is not done here. Rejects
 * with `Timeout` when the process sends nothing more. As with runKillable, a process that the kernel cannot kill is not
 * awaited. Its children are in its process group and are killed with it.
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

/** The flags optimize for size, because the process mostly waits for the disk. */
const nodeFlags = [
  '--disable-warning=ExperimentalWarning',
  '--no-concurrent-sparkplug',
  '--optimize-for-size',
  '--max-semi-space-size=1',
  '--max-old-space-size=64',
];
const STDERR_LIMIT = 16 * 1024;
