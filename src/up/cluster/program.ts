/** A supervised program: `up` restarts it when it dies and writes its log to the data folder. */
import type { ChildProcess } from 'node:child_process';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readSync, statSync, watch, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../../base/clock.ts';
import { sleep } from '../../base/clock.ts';
import { errorMessage, KubeletError } from '../../base/errors.ts';
import { machineEnvironment } from '../commands.ts';
import { lastLines } from '../containerd.ts';
import { writeProcessFile } from '../processes.ts';
import { abortReason } from './abort-reason.ts';
import { restartDelayMs } from './restart-delay.ts';

export interface Program {
  /** The name in messages. */
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly log: string;
  readonly pidFile: string;
  /** This text in its log means that it serves; absent: it serves as soon as it runs. */
  readonly ready?: string;
  /** Added to the environment of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

export interface Supervision {
  readonly clock: Clock;
  /** Ends the supervision, not the program. */
  readonly signal: AbortSignal;
  readonly say: (message: string) => void;
}

export interface RunningProgram {
  /** Resolves when it serves for the first time; rejects when it died too often before. */
  readonly ready: Promise<void>;
  /** Resolves when supervision has ended. */
  readonly left: Promise<void>;
}

/** After this many early exits in a row before it ever served, it is not restarted. */
const MAX_EARLY_DEATHS = 3;
const LAST_WORDS = 8;

/** Starts it immediately. Only `ready` may reject. */
export function keepRunning(program: Program, supervision: Supervision): RunningProgram {
  let markReady: () => void = () => undefined;
  let fail: (error: Error) => void = () => undefined;
  const ready = new Promise<void>((resolve, reject) => ([markReady, fail] = [resolve, reject]));
  // Callers need not wait for `ready`. Those that do see the error.
  ready.catch(() => undefined);
  return { ready, left: look(program, supervision, { markReady, fail }) };
}

async function look(
  program: Program,
  { clock, signal, say }: Supervision,
  { markReady, fail }: { markReady: () => void; fail: (error: Error) => void },
): Promise<void> {
  let served = false;
  for (let deaths = 0; !signal.aborted; ) {
    const startMs = clock.monotonicMs();
    const watched = new AbortController();
    const offset = existsSync(program.log) ? statSync(program.log).size : 0;
    const child = startProgram(program);
    const onServing = (): void => {
      served = true;
      markReady();
    };
    if (program.ready === undefined) child.once('spawn', onServing);
    else
      void waitForText(program.log, { text: program.ready, offset, signal: watched.signal }).then(
        (found) => found && onServing(),
      );
    const ended = await Promise.race([endOf(child), aborted(signal)]);
    watched.abort();
    if (ended === undefined) {
      child.unref();
      return;
    }
    const delayMs = restartDelayMs((deaths = clock.monotonicMs() - startMs > 10_000 ? 1 : deaths + 1));
    const reason = ended === 'signal SIGABRT' ? abortReason(program.log, offset) : undefined;
    const words = `${program.name} ended unexpectedly (${ended}${reason === undefined ? '' : `: ${reason}`})`;
    if (!served && deaths >= MAX_EARLY_DEATHS)
      return fail(
        new KubeletError(
          'Unavailable',
          `${words}; the end of its log ${program.log}:\n${lastLines(program.log, LAST_WORDS)}`,
        ),
      );
    say(`${words}: restarting it. Its log: ${program.log}`);
    await sleep(clock, delayMs, signal).catch(() => undefined);
  }
}

/** In its own session, so that Ctrl-C reaches only `up`, which stops its programs in order. */
function startProgram({ command, args, log: file, pidFile, env }: Program): ChildProcess {
  const log = openSync(file, 'a');
  const environment = machineEnvironment();
  // Our programs run with the same Node as this process.
  const child = spawn(command, args, {
    detached: true,
    stdio: ['ignore', log, log],
    env: { ...environment, PATH: `${dirname(process.execPath)}:${environment['PATH'] ?? ''}`, ...env },
  });
  closeSync(log);
  if (child.pid !== undefined) writeProcessFile(pidFile, child.pid);
  return child;
}

async function endOf(child: ChildProcess): Promise<string> {
  try {
    const [code, signal] = (await once(child, 'exit')) as [number | null, string | null];
    return code === null ? `signal ${signal}` : `exit ${code}`;
  } catch (error) {
    return errorMessage(error);
  }
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener('abort', () => resolve(undefined), { once: true });
  });
}

/**
 * Resolves with true when `text` appears in the file after `offset`, and with false when `signal` aborts first. The
 * file is read when the kernel reports that it grew.
 */
export function waitForText(
  file: string,
  { text, offset, signal }: { text: string; offset: number; signal: AbortSignal },
): Promise<boolean> {
  if (!existsSync(file)) writeFileSync(file, '');
  return new Promise((resolve) => {
    let at = offset;
    let seen = '';
    const watcher = watch(file, () => read());
    const finish = (found: boolean): void => {
      watcher.close();
      resolve(found);
    };
    const read = (): void => {
      const size = statSync(file).size;
      if (size <= at) return;
      const bytes = Buffer.alloc(size - at);
      const handle = openSync(file, 'r');
      readSync(handle, bytes, 0, bytes.length, at);
      closeSync(handle);
      at = size;
      seen = seen.slice(-text.length) + bytes.toString('latin1');
      if (seen.includes(text)) finish(true);
    };
    if (signal.aborted) return finish(false);
    signal.addEventListener('abort', () => finish(false), { once: true });
    read();
  });
}
