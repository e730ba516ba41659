import type { Buffer } from 'node:buffer';
import type { Duplex, Writable } from 'node:stream';
import type { Clock, Timer } from '../../base/clock.ts';
import { errorMessage, isKind } from '../../base/errors.ts';
import { parseRecord } from '../../base/json-record.ts';
import type { AttachRequest, ExecRequest } from '../../cri/generated/cri-v1.ts';
import type { CommandEnds } from '../../streaming/command-server.ts';
import type { DockerEngine, TerminalSize } from '../engine/docker-engine.ts';
import { StreamFrames } from '../plan/stream-frames.ts';
import { awaitExitCode } from './exec-sync.ts';
import { writeHeld } from './held-output.ts';

export interface StreamCommandParts {
  readonly engine: DockerEngine;
  readonly clock: Clock;
}

const MOST_RESIZE_CHARACTERS = 1024;

/** `kubectl exec`: runs the command, connects its streams with the client's, and sends the client the exit code. */
export async function serveExec(parts: StreamCommandParts, request: ExecRequest, ends: CommandEnds): Promise<void> {
  const { engine, clock } = parts;
  await report(ends, async () => {
    const execId = await engine.createExec(request.containerId, {
      Cmd: request.cmd,
      Tty: request.tty,
      AttachStdin: request.stdin,
      AttachStdout: request.stdout,
      AttachStderr: request.stderr && !request.tty,
    });
    const stream = await engine.startExec(execId, { tty: request.tty });
    readSizes(ends, (size) => engine.resizeExec(execId, size));
    await join(stream, ends, request.tty);
    return exitStatus(await awaitExitCode({ engine, clock }, execId));
  });
}

/** `kubectl attach`: connects the streams of the container's first process with the client's. */
export async function serveAttach(
  { engine, clock }: StreamCommandParts,
  request: AttachRequest,
  ends: CommandEnds,
): Promise<void> {
  await report(ends, async () => {
    const stream = await engine.attach(request.containerId, { stdin: request.stdin });
    readSizes(ends, (size) => engine.resizeContainer(request.containerId, size));
    const limited = (await isRunning(engine, request.containerId)) ? undefined : endWhenSilent(stream, clock);
    const onActivity = (): void => {
      limited?.onActivity();
      ends.onActivity();
    };
    await join(stream, { ...ends, onActivity }, request.tty);
    limited?.cancel();
    return successStatus;
  });
}

async function isRunning(engine: DockerEngine, id: string): Promise<boolean> {
  try {
    return (await engine.inspectContainer(id)).State?.Running === true;
  } catch (error) {
    if (isKind(error, 'NotFound')) return false;
    throw error;
  }
}

/** The remaining output of an ended container arrives immediately, unless the client is slow. */
const SILENCE_MS = 10_000;

/** Docker does not end the stream of a container that had already ended: it waits for the next start. */
function endWhenSilent(stream: Duplex, clock: Clock): { onActivity(): void; cancel(): void } {
  const arm = (): Timer => clock.setTimer(SILENCE_MS, () => stream.destroy());
  let timer = arm();
  return {
    onActivity: () => {
      timer.cancel();
      timer = arm();
    },
    cancel: () => timer.cancel(),
  };
}

const successStatus = { metadata: {}, status: 'Success' } as const;

/** kubectl reads the exit code from this text (upstream: kubelet/pkg/cri/streaming/remotecommand/exec.go). */
function exitStatus(exitCode: number): object {
  if (exitCode === 0) return successStatus;
  return {
    metadata: {},
    status: 'Failure',
    message: `command terminated with non-zero exit code: exit status ${exitCode}`,
    reason: 'NonZeroExitCode',
    details: { causes: [{ reason: 'ExitCode', message: String(exitCode) }] },
  };
}

/** The client reads the result of its command last. Then everything is closed. */
async function report(ends: CommandEnds, run: () => Promise<object>): Promise<void> {
  let status: object;
  try {
    status = await run();
  } catch (error) {
    const message = errorMessage(error);
    status = {
      metadata: {},
      status: 'Failure',
      message,
      reason: 'InternalError',
      code: 500,
      details: { causes: [{ message }] },
    };
  }
  const { stdout, stderr, error, close } = ends;
  await Promise.all([endOf(stdout), endOf(stderr)]);
  await new Promise<void>((resolve) => error.end(JSON.stringify(status), () => resolve()));
  close();
}

function endOf(stream: Writable | undefined): Promise<void> {
  if (stream === undefined || stream.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    stream.once('close', resolve);
    stream.end(() => resolve());
  });
}

/** Resolves when Docker has sent everything. If the client leaves, the connection of the command is closed. */
async function join(stream: Duplex, ends: CommandEnds, isTty: boolean): Promise<void> {
  const { stdin, stdout, stderr, session, onActivity } = ends;
  session.onClose(() => stream.destroy());
  stream.on('error', () => stream.destroy());
  if (stdin === undefined) stream.end();
  else {
    stdin.on('data', onActivity);
    stdin.pipe(stream);
  }
  const frames = new StreamFrames();
  const write = async (target: Writable | undefined, data: Buffer): Promise<void> => {
    onActivity();
    await writeHeld(target, data);
  };
  try {
    for await (const chunk of stream.iterator({ destroyOnReturn: false })) {
      if (isTty) await write(stdout, chunk as Buffer);
      else
        for (const { stream: name, data } of frames.push(chunk as Buffer))
          await write(name === 'stdout' ? stdout : stderr, data);
    }
  } catch {
    return; // The connection broke. The exit code shows how the command ended.
  } finally {
    stdin?.unpipe(stream);
    stdin?.resume();
    stream.destroy();
  }
}

/**
 * The client sends a JSON object for each new size of its terminal. Only one size at a time is sent to Docker, and then
 * the newest, so a client that sends many sizes uses one connection.
 */
function readSizes({ resize }: CommandEnds, apply: (size: TerminalSize) => Promise<void>): void {
  let held = '';
  let next: TerminalSize | undefined;
  let isApplying = false;
  const applyAll = async (): Promise<void> => {
    if (isApplying) return;
    isApplying = true;
    while (next !== undefined) {
      const size = next;
      next = undefined;
      // A command that ended has no terminal.
      await apply(size).catch(() => undefined);
    }
    isApplying = false;
  };
  resize?.on('data', (chunk: Buffer) => {
    held += chunk.toString('utf8');
    const end = held.lastIndexOf('}');
    if (end !== -1) {
      const { Width: width, Height: height } = parseRecord(held.slice(held.lastIndexOf('{', end), end + 1)) ?? {};
      held = held.slice(end + 1);
      if (isSize(width) && isSize(height)) next = { width, height };
      void applyAll();
    }
    if (held.length > MOST_RESIZE_CHARACTERS) held = '';
  });
}

const isSize = (value: unknown): value is number =>
  Number.isInteger(value) && Number(value) > 0 && Number(value) < 65_536;
