// Code that drivers and plugins in their own processes share: for their controllers in the test, and for the processes.
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { KubeletError } from '../../../src/base/errors.ts';
import { grpcCodeByName } from '../../../src/grpc/grpc-status.ts';
import { waitUntil } from './patience.ts';
import { endWithThisProcess } from './test-child.ts';

/** `once`: for one call; otherwise until `heal`. */
export interface ScriptedFault {
  readonly kind: 'fail' | 'hang' | 'die';
  readonly code?: string;
  readonly message?: string;
  readonly once?: boolean;
}

/** Controls such a process from a test. `Call` is the type of a recorded call. */
export abstract class DriverProcess<Setting extends { readonly folder: string }, Call extends { readonly op: string }> {
  abstract readonly setting: Setting;
  readonly #program: string;
  #child: ChildProcess | undefined;

  /** `program`: its file in this folder. */
  constructor(program: string) {
    this.#program = program;
  }

  /** Whether the process listens, judged by the files that it creates. */
  protected isUp(): boolean {
    return existsSync(join(this.setting.folder, 'up'));
  }

  /** Resolves when it listens and, if it registers itself, has tried to. */
  async start(): Promise<void> {
    const { folder } = this.setting;
    const errors = openSync(join(folder, 'errors'), 'w');
    rmSync(join(folder, 'up'), { force: true });
    const child = spawn(process.execPath, [join(import.meta.dirname, this.#program), JSON.stringify(this.setting)], {
      stdio: ['ignore', 'ignore', errors],
    });
    closeSync(errors);
    this.#child = child;
    endWithThisProcess(child);
    const isUp = await waitUntil(() => child.exitCode !== null || this.isUp(), 15_000);
    if (!isUp || child.exitCode !== null)
      throw new Error(`${this.#program} did not start: ${readFileSync(join(folder, 'errors'), 'utf8')}`);
  }

  /** SIGTERM removes its sockets, SIGKILL leaves them. */
  async stop(signal: 'SIGTERM' | 'SIGKILL' = 'SIGTERM'): Promise<void> {
    const child = this.#child;
    this.#child = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    child.ref();
    const gone = new Promise((resolve) => child.once('close', resolve));
    child.kill(signal);
    await gone;
  }

  /** Stops the process and removes its folder. */
  async dispose(): Promise<void> {
    await this.stop();
    rmSync(this.setting.folder, { recursive: true, force: true });
  }

  fault(op: string, fault: ScriptedFault): void {
    mkdirSync(join(this.setting.folder, 'script'), { recursive: true });
    writeFileSync(join(this.setting.folder, 'script', op), JSON.stringify(fault));
  }

  heal(op: string): void {
    rmSync(join(this.setting.folder, 'script', op), { force: true });
  }

  protected recorded(isWanted: (call: Call) => boolean): Call[] {
    const file = join(this.setting.folder, 'calls.jsonl');
    if (!existsSync(file)) return [];
    return readFileSync(file, 'utf8')
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Call)
      .filter(isWanted);
  }

  /** Waits for `count` such calls; fails with all recorded calls. */
  protected async whenRecorded(
    what: string,
    isWanted: (call: Call) => boolean,
    count: number,
    timeoutMs: number,
  ): Promise<Call[]> {
    if (await waitUntil(() => this.recorded(isWanted).length >= count, timeoutMs, 20)) return this.recorded(isWanted);
    const all = this.recorded(() => true).map((call) => JSON.stringify(call));
    throw new Error(`${what} was not called ${count} times:\n${all.join('\n')}`);
  }
}

/** Called in the process: fails, hangs or ends if a file of its script folder says so. */
export async function obeyScript(folder: string, op: string): Promise<void> {
  const file = join(folder, 'script', op);
  if (!existsSync(file)) return;
  const fault = JSON.parse(readFileSync(file, 'utf8')) as ScriptedFault;
  if (fault.once === true) rmSync(file);
  if (fault.kind === 'die') process.kill(process.pid, 'SIGKILL');
  if (fault.kind === 'hang') await new Promise(() => undefined);
  throw new KubeletError('Internal', fault.message ?? 'scripted', {
    cause: { code: grpcCodeByName(fault.code ?? 'Internal') ?? 13, details: fault.message ?? 'scripted' },
  });
}
