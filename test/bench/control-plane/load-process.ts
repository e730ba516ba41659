/** The parent's side of the client process. Jobs and results are sent over the IPC channel. */
import type { ChildProcess } from 'node:child_process';
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { processCpuMs } from '../process-figures.ts';
import type { JobArguments, JobName, JobResult } from './load-jobs.ts';

interface Reply {
  readonly result?: unknown;
  readonly error?: string;
}

export class LoadProcess {
  readonly #child: ChildProcess;
  #waiting: { readonly resolve: (value: unknown) => void; readonly reject: (error: Error) => void } | undefined;

  constructor() {
    this.#child = fork(join(import.meta.dirname, 'load-host.ts'), {
      serialization: 'advanced',
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#child.on('message', ({ result, error }: Reply) => {
      const waiting = this.#waiting;
      this.#waiting = undefined;
      if (error === undefined) waiting?.resolve(result);
      else waiting?.reject(new Error(error));
    });
    this.#child.on('exit', (code) => this.#waiting?.reject(new Error(`the clients' process ended with ${code}`)));
  }

  /** Runs a job. Only one job may run at a time. */
  run<Name extends JobName>(name: Name, job: JobArguments<Name>): Promise<JobResult<Name>> {
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve: resolve as (value: unknown) => void, reject };
      this.#child.send({ name, job });
    });
  }

  cpuMs(): number {
    return processCpuMs(this.#child.pid ?? 0);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return;
    const gone = new Promise<void>((resolve) => this.#child.once('exit', () => resolve()));
    this.#child.disconnect();
    await gone;
  }
}

export async function withLoad<T>(work: (load: LoadProcess) => Promise<T>): Promise<T> {
  const load = new LoadProcess();
  try {
    return await work(load);
  } finally {
    await load.stop();
  }
}
