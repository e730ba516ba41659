import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import type { Clock, Timer } from '../../../base/clock.ts';
import { ApiStatusError, internalError } from '../../../api/status/api-status-error.ts';
import { textTasks } from './text-tasks.ts';
import type { TextTasks } from './text-tasks.ts';
import type { TextAnswer, TextQuestion } from './text-worker.ts';

/** In `dist` the worker is a separate bundle. */
const script = fileURLToPath(
  new URL(import.meta.url.endsWith('.ts') ? './text-worker.ts' : './text-worker.js', import.meta.url),
);

/**
 * The length from which YAML is processed in the thread. Shorter texts take a few milliseconds at most, less than
 * passing them to the thread. Parsing YAML is a hundred times slower than writing it.
 */
const LONG_YAML = 8 * 1024;
const LONG_JSON = 64 * 1024;
/** The memory limit of the thread. A text that needs more is rejected. Bodies of 3 MiB need less than half. */
const HEAP_MIB = 512;
/** The idle time after which the thread ends. Starting it takes 0.1 s and 20 MB. */
const IDLE_MS = 30_000;

interface Job {
  readonly question: TextQuestion;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Processes long texts in a separate thread, one after another, so that other requests do not wait for them. Short
 * texts are processed immediately.
 */
export class TextThread implements TextTasks {
  readonly #clock: Clock;
  readonly #jobs: Job[] = [];
  #worker: Worker | undefined;
  #idle: Timer | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  readYaml(text: string): ReturnType<TextTasks['readYaml']> {
    return this.#do('readYaml', text, LONG_YAML);
  }

  scanJson(text: string): ReturnType<TextTasks['scanJson']> {
    return this.#do('scanJson', text, LONG_JSON);
  }

  writeYaml(json: string): ReturnType<TextTasks['writeYaml']> {
    return this.#do('writeYaml', json, LONG_JSON);
  }

  writeYamlItem(json: string): ReturnType<TextTasks['writeYamlItem']> {
    return this.#do('writeYamlItem', json, LONG_JSON);
  }

  indent(json: string): ReturnType<TextTasks['indent']> {
    return this.#do('indent', json, LONG_JSON);
  }

  /** Ends the thread and rejects its remaining tasks. */
  async stop(): Promise<void> {
    this.#idle?.cancel();
    const worker = this.#worker;
    this.#worker = undefined;
    for (const { reject } of this.#jobs.splice(0)) reject(internalError('the server stops'));
    await worker?.terminate();
  }

  #do<K extends keyof TextTasks>(task: K, text: string, long: number): ReturnType<TextTasks[K]> {
    // The result type depends on the task.
    return (text.length < long ? textTasks[task](text) : this.#ask(task, text)) as ReturnType<TextTasks[K]>;
  }

  #ask(task: keyof TextTasks, text: string): Promise<unknown> {
    this.#idle?.cancel();
    return new Promise((resolve, reject) => {
      this.#jobs.push({ question: { task, text }, resolve, reject });
      if (this.#jobs.length === 1) this.#next();
    });
  }

  /** The thread gets one text at a time, so that a text that exceeds its memory fails alone. */
  #next(): void {
    const [job] = this.#jobs;
    if (job !== undefined) (this.#worker ??= this.#start()).postMessage(job.question);
    else this.#idle = this.#clock.setTimer(IDLE_MS, () => void this.stop());
  }

  #start(): Worker {
    const worker = new Worker(script, {
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
      execArgv: ['--disable-warning=ExperimentalWarning'],
      env: {},
    });
    worker.unref();
    worker.on('message', (answer: TextAnswer) => {
      if ('error' in answer)
        this.#done(({ reject }) => reject(internalError(`a text could not be processed: ${answer.error}`)));
      else this.#done(({ resolve }) => resolve(answer.result));
    });
    worker.on('error', (error: NodeJS.ErrnoException) => {
      this.#worker = undefined;
      this.#done(({ reject }) =>
        reject(
          error.code === 'ERR_WORKER_OUT_OF_MEMORY'
            ? tooMuch()
            : internalError(`a text could not be processed: ${error.message}`),
        ),
      );
    });
    return worker;
  }

  #done(settle: (job: Job) => void): void {
    const job = this.#jobs.shift();
    if (job === undefined) return;
    settle(job);
    this.#next();
  }
}

const tooMuch = (): ApiStatusError =>
  new ApiStatusError(
    'RequestEntityTooLarge',
    `Request entity too large: limit is ${HEAP_MIB} MiB of memory to read it`,
  );
