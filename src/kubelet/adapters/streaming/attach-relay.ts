import { Buffer } from 'node:buffer';
import type { Clock, Timer } from '../../../base/clock.ts';
import { untilDrained } from '../../../base/until-drained.ts';
import type { CommandEnds } from '../../../streaming/command-server.ts';
import { readStatus, statusMessage } from '../../../streaming/remote-command.ts';
import type { SpdyStream } from '../../../streaming/spdy-session.ts';
import { LiveRemainder } from './live-remainder.ts';

/** Output that a container wrote to one of its streams at one time. */
export interface LogPiece {
  readonly stream: 'stdout' | 'stderr';
  readonly content: Uint8Array;
}

/** The runtime's side of an attachment: the output of the container, and the destination of its input. */
export interface RuntimeEnds {
  readonly error: SpdyStream;
  readonly stdin: SpdyStream | undefined;
  readonly stdout: SpdyStream | undefined;
  readonly stderr: SpdyStream | undefined;
  readonly resize: SpdyStream | undefined;
  close(): void;
}

/**
 * The output of a container, in order. Its reader calls `caughtUp` of the relay each time it has read all available
 * output.
 */
export interface AttachLog {
  /** Ends when the container has ended and everything is read, or when it is stopped. */
  readonly entries: AsyncIterable<readonly LogPiece[]>;
  /** Checks immediately whether there is more. */
  look(): void;
}

export interface AttachRelayParts {
  readonly client: CommandEnds;
  /** The runtime's side; undefined if the container has ended. */
  readonly runtime: RuntimeEnds | undefined;
  readonly log: AttachLog;
  readonly stopLog: AbortController;
  readonly hasEnded: () => Promise<boolean>;
  readonly tty: boolean;
  readonly clock: Clock;
}

/** After a container wrote nothing for this time, no output is pending between its log and the attached stream. */
const QUIET_MS = 100;
/** The same time if lines repeat, so that the log cannot be compared. On a busy node the runtime may write it late. */
const AMBIGUOUS_QUIET_MS = 1000;
/** How long a terminal that is never quiet waits. Then the relay switches as soon as the log has all complete lines. */
const TERMINAL_LIMIT_MS = 1000;
/** The runtime ends an attachment slightly before it reports the end of the container. */
const END_LAG_MS = 300;
const SUCCESS = statusMessage('', false);

const outputs = ['stdout', 'stderr'] as const;

/**
 * Sends a client all output of a container since its start, exactly once, and then new output. Invariants:
 * 1. While joining, output comes from the log alone. The runtime's output is compared with it, and input is passed on
 *    immediately.
 * 2. When the container is quiet and the log has every complete line, the client gets the unfinished line, and from
 *    then on the runtime's output.
 * 3. If the container ends before that, its log is read to its end. The client gets success, because the exit code is
 *    in the pod's status.
 */
export class AttachRelay {
  readonly #parts: AttachRelayParts;
  readonly #remainders = { stdout: new LiveRemainder(), stderr: new LiveRemainder() };
  readonly #beganMs: number;
  #mode: 'joining' | 'live' | 'over' = 'joining';
  /** Whether there was no output for a while, so that the log is checked for completeness. */
  #isQuiet = false;
  #isRuntimeOver = false;
  #lastPieceMs = 0;
  /** The time of the last output in the log or the attached stream. */
  #lastOutputMs: number;
  #timer: Timer | undefined;

  constructor(parts: AttachRelayParts) {
    this.#parts = parts;
    this.#beganMs = parts.clock.monotonicMs();
    this.#lastOutputMs = this.#beganMs;
  }

  /** Resolves when the client has received the end, or has disconnected. Never rejects. */
  async run(): Promise<void> {
    const { client, runtime } = this.#parts;
    client.session.onClose(() => this.#leave());
    client.error.resume();
    client.stdout?.resume();
    client.stderr?.resume();
    this.#passInput(client.stdin, runtime?.stdin);
    this.#passInput(client.resize, runtime?.resize);
    const ends = [this.#copyLog(), ...(runtime === undefined ? [] : [this.#followRuntime(runtime)])];
    await Promise.race(ends).catch(() => this.#leave());
  }

  caughtUp(): void {
    if (!this.#isQuiet) return this.#lookLater();
    this.#isQuiet = false;
    this.#goLive();
  }

  #passInput(from: SpdyStream | undefined, to: SpdyStream | undefined): void {
    if (to === undefined) from?.resume();
    else from?.on('data', this.#parts.client.onActivity).pipe(to);
    // It carries no data back, but its end is seen only if it is read.
    to?.resume();
  }

  async #copyLog(): Promise<void> {
    const { client, log, clock } = this.#parts;
    for await (const pieces of log.entries) {
      this.#isQuiet = false;
      this.#lastPieceMs = clock.monotonicMs();
      this.#lastOutputMs = this.#lastPieceMs;
      for (const { stream, content } of joined(pieces)) {
        if (this.#mode !== 'joining') break;
        this.#remainders[stream].addLogged(content);
        await this.#write(client[stream], content);
      }
    }
    if (this.#mode === 'joining') await this.#finish(SUCCESS);
    // A failure of the log ends the relay.
    else await new Promise<void>((resolve) => client.session.onClose(resolve));
  }

  async #followRuntime(runtime: RuntimeEnds): Promise<void> {
    const { clock, hasEnded, client } = this.#parts;
    const [text] = await Promise.all([
      readStatus(runtime.error),
      ...outputs.map((name) => this.#copyLive(runtime[name], name)),
    ]);
    this.#isRuntimeOver = true;
    const status = statusMessage(text, runtime.error.remote === 'lost');
    if (this.#mode === 'live') return this.#finish(status);
    // The end of a container is taken from the log. If the container keeps running, the runtime ended the attachment,
    // for example because the input ended.
    let isLeft = false;
    while (this.#mode === 'joining' && !isLeft) {
      const beganMs = clock.monotonicMs();
      await new Promise<void>((resolve) => clock.setTimer(END_LAG_MS, resolve));
      if (await hasEnded().catch(() => true)) break;
      isLeft = this.#lastPieceMs < beganMs;
    }
    if (isLeft) return this.#finish(status);
    return new Promise<void>((resolve) => client.session.onClose(resolve));
  }

  async #copyLive(from: SpdyStream | undefined, name: 'stdout' | 'stderr'): Promise<void> {
    if (from === undefined) return;
    for await (const chunk of from.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (this.#mode === 'joining') {
        this.#remainders[name].addLive(chunk);
        this.#lastOutputMs = this.#parts.clock.monotonicMs();
        this.#isQuiet = false;
        this.#lookLater();
      } else await this.#write(this.#parts.client[name], chunk);
    }
  }

  /** Postpones the check after each output, on a terminal up to a limit. */
  #lookLater(): void {
    const { clock, tty, log } = this.#parts;
    this.#timer?.cancel();
    if (!this.#mayGoLive()) return;
    const leftMs = tty ? this.#beganMs + TERMINAL_LIMIT_MS - clock.monotonicMs() : QUIET_MS;
    this.#timer = clock.setTimer(Math.max(0, Math.min(QUIET_MS, leftMs)), () => {
      this.#isQuiet = true;
      log.look();
    });
  }

  #mayGoLive(): boolean {
    return this.#mode === 'joining' && this.#parts.runtime !== undefined && !this.#isRuntimeOver;
  }

  #goLive(): void {
    if (!this.#mayGoLive()) return;
    const rests = outputs.map((name) => ({ name, rest: this.#remainders[name].compute() }));
    if (rests.some(({ rest }) => rest === undefined) || this.#mayLackLines()) return this.#lookLater();
    this.#mode = 'live';
    this.#parts.stopLog.abort();
    for (const { name, rest } of rests)
      if (rest !== undefined && rest.length > 0) this.#parts.client[name]?.write(rest);
  }

  #mayLackLines(): boolean {
    const nowMs = this.#parts.clock.monotonicMs();
    const isLong = nowMs - this.#lastOutputMs >= AMBIGUOUS_QUIET_MS;
    const isAwaited = this.#parts.tty && nowMs - this.#beganMs >= TERMINAL_LIMIT_MS;
    return !isLong && !isAwaited && outputs.some((name) => this.#remainders[name].isAmbiguous());
  }

  async #write(to: SpdyStream | undefined, chunk: Uint8Array): Promise<void> {
    if (to === undefined || to.destroyed || to.writableEnded || chunk.length === 0) return;
    this.#parts.client.onActivity();
    if (!to.write(chunk)) await untilDrained(to);
  }

  /**
   * The status is sent first. A client that reads it late must not treat the end of the outputs as a lost connection.
   */
  async #finish(status: string): Promise<void> {
    if (this.#mode === 'over') return;
    this.#mode = 'over';
    this.#leave();
    const { client } = this.#parts;
    const ending = [client.error, client.stdout, client.stderr].filter((stream) => stream !== undefined);
    client.error.write(status);
    await Promise.all(
      ending.map(
        (stream) =>
          new Promise<void>((resolve) => (stream.destroyed ? resolve() : stream.end(resolve).once('close', resolve))),
      ),
    );
    client.close();
  }

  #leave(): void {
    this.#mode = 'over';
    this.#timer?.cancel();
    this.#parts.stopLog.abort();
    this.#parts.runtime?.close();
  }
}

/** Joins pieces of the same stream, because there are many short lines. */
function joined(pieces: readonly LogPiece[]): readonly LogPiece[] {
  const runs: { stream: LogPiece['stream']; parts: Uint8Array[] }[] = [];
  for (const { stream, content } of pieces) {
    const last = runs.at(-1);
    if (last?.stream === stream) last.parts.push(content);
    else runs.push({ stream, parts: [content] });
  }
  return runs.map(({ stream, parts }) => ({ stream, content: Buffer.concat(parts) }));
}
