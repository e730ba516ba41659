import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import type { Processes } from '../processes.ts';

export interface FakeRun {
  readonly program: string;
  readonly args: readonly string[];
  readonly stdin: string;
  readonly env: Readonly<Record<string, string>>;
}

export type FakeProgram = (
  run: FakeRun,
) =>
  | Partial<{ exitCode: number; stdout: string; stderr: string }>
  | Promise<Partial<{ exitCode: number; stdout: string; stderr: string }>>;

/**
 * Programs by path, as functions. A missing one cannot be started. Tests can make any of them fail to start, or fail
 * while it is awaited.
 */
export class FakeProcesses implements Processes {
  readonly runs: FakeRun[] = [];
  readonly #programs = new Map<string, FakeProgram>();
  readonly #faults = new Map<string, { kind: ErrorKind; message: string }>();

  install(program: string, behave: FakeProgram): void {
    this.#programs.set(program, behave);
  }

  fail(program: string, kind: ErrorKind, message = `${program} fails as scripted`): void {
    this.#faults.set(program, { kind, message });
  }

  async run(
    program: string,
    args: readonly string[],
    options: Parameters<Processes['run']>[2],
  ): Promise<{ exitCode: number; stdout: string; stderr: string }> {
    const run: FakeRun = { program, args, stdin: options.stdin ?? '', env: options.env ?? {} };
    this.runs.push(run);
    const fault = this.#faults.get(program);
    if (fault !== undefined) throw new KubeletError(fault.kind, fault.message, { op: 'run' });
    const behave = this.#programs.get(program);
    if (behave === undefined)
      throw new KubeletError('NotFound', `${program} could not be started: ENOENT`, { op: 'run' });
    const { exitCode = 0, stdout = '', stderr = '' } = await behave(run);
    if (stdout.length > options.outputLimitBytes || stderr.length > options.outputLimitBytes)
      throw new KubeletError('Invalid', `${program} wrote more than ${options.outputLimitBytes} bytes`, { op: 'run' });
    return { exitCode, stdout, stderr };
  }
}
