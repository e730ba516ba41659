import { Buffer } from 'node:buffer';
import type { Duplex } from 'node:stream';
import { sleep } from '../../base/clock.ts';
import type { Clock } from '../../base/clock.ts';
import { KubeletError } from '../../base/errors.ts';
import type { ExecSyncResponse } from '../../cri/generated/cri-v1.ts';
import type { DockerEngine } from '../engine/docker-engine.ts';
import { StreamFrames } from '../plan/stream-frames.ts';
import type { ShimHost } from './shim-ports.ts';

export interface ExecParts {
  readonly engine: Pick<DockerEngine, 'createExec' | 'startExec' | 'inspectExec'>;
  readonly host: Pick<ShimHost, 'killProcess'>;
  readonly clock: Clock;
}

/** The same limit as in containerd and cri-dockerd. */
const MOST_OUTPUT_BYTES = 16 * 1024 * 1024;
const FIRST_POLL_MS = 2;
const MOST_POLL_MS = 100;
/** Docker ends the output of a command shortly before it knows the exit code. */
const EXIT_CODE_LIMIT_MS = 10_000;

/**
 * Runs a command and waits for its end. After `timeoutS` seconds (0: no limit) it rejects with `Timeout` and kills the
 * command. It also kills the command when the caller aborts: Docker itself would let it run.
 */
export async function execSync(
  { engine, host, clock }: ExecParts,
  request: { readonly containerId: string; readonly cmd: readonly string[]; readonly timeoutS: number },
  signal?: AbortSignal,
): Promise<ExecSyncResponse> {
  const { containerId, cmd, timeoutS } = request;
  const body = { Cmd: cmd, Tty: false, AttachStdin: false, AttachStdout: true, AttachStderr: true };
  const execId = await engine.createExec(containerId, body, { signal });
  const limit = new AbortController();
  const timer = timeoutS > 0 ? clock.setTimer(timeoutS * 1000, () => limit.abort()) : undefined;
  const ended = signal === undefined ? limit.signal : AbortSignal.any([signal, limit.signal]);
  try {
    const output = await readOutput(await engine.startExec(execId, { tty: false, signal: ended }), ended);
    if (!ended.aborted) return { ...output, exitCode: await awaitExitCode({ engine, clock }, execId, ended) };
    throw new KubeletError('Aborted', 'the command was cancelled');
  } catch (error) {
    if (!ended.aborted) throw error;
    await killExec({ engine, host }, execId);
    if (!limit.signal.aborted) throw error;
    throw new KubeletError('Timeout', `command ${JSON.stringify(cmd.join(' '))} timed out after ${timeoutS} s`, {
      op: 'ExecSync',
      cause: error,
    });
  } finally {
    timer?.cancel();
  }
}

async function readOutput(stream: Duplex, signal: AbortSignal): Promise<Pick<ExecSyncResponse, 'stdout' | 'stderr'>> {
  const frames = new StreamFrames();
  const chunks = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
  const bytes = { stdout: 0, stderr: 0 };
  const end = (): void => void stream.destroy();
  signal.addEventListener('abort', end, { once: true });
  stream.end();
  try {
    for await (const chunk of stream)
      for (const { stream: name, data } of frames.push(chunk as Buffer)) {
        const room = MOST_OUTPUT_BYTES - bytes[name];
        if (room <= 0) continue;
        // A copy, because a slice would keep the whole chunk in memory.
        chunks[name].push(Buffer.from(data.subarray(0, room)));
        bytes[name] += Math.min(room, data.length);
      }
  } finally {
    signal.removeEventListener('abort', end);
    stream.destroy();
  }
  return { stdout: Buffer.concat(chunks.stdout), stderr: Buffer.concat(chunks.stderr) };
}

/** The exit code of a command whose output has ended. */
export async function awaitExitCode(
  { engine, clock }: Pick<ExecParts, 'clock'> & { readonly engine: Pick<DockerEngine, 'inspectExec'> },
  execId: string,
  signal?: AbortSignal,
): Promise<number> {
  const startedMs = clock.monotonicMs();
  let pollMs = FIRST_POLL_MS;
  for (;;) {
    const { Running: isRunning, ExitCode: exitCode } = await engine.inspectExec(execId, { signal });
    if (isRunning !== true && typeof exitCode === 'number') return exitCode;
    if (clock.monotonicMs() - startedMs > EXIT_CODE_LIMIT_MS)
      throw new KubeletError('Internal', 'Docker does not say how the command ended', { op: 'inspect exec' });
    await sleep(clock, pollMs, signal);
    pollMs = Math.min(pollMs * 2, MOST_POLL_MS);
  }
}

async function killExec(
  { engine, host }: { readonly engine: Pick<DockerEngine, 'inspectExec'>; readonly host: ExecParts['host'] },
  execId: string,
): Promise<void> {
  try {
    const { Running: isRunning, Pid: pid = 0, ContainerID: containerId = '' } = await engine.inspectExec(execId);
    if (isRunning === true && pid > 0) host.killProcess(pid, containerId);
  } catch {
    return; // The container is gone, and so is the command.
  }
}
