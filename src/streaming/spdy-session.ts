import { Duplex } from 'node:stream';
import { KubeletError } from '../base/errors.ts';
import {
  dataFrames,
  finFrame,
  goAwayFrame,
  HeaderBlocks,
  openFrame,
  pingFrame,
  resetFrame,
  resetStatus,
  SpdyFrameReader,
} from './spdy-frames.ts';
import type { SpdyFrame } from './spdy-frames.ts';

/** How a stream's reading side came to its end. A peer that is done with everything resets what it left open, so that is an end like any other. */
export type StreamEnd = 'open' | 'finished' | 'reset' | 'lost';

/**
 * The client's side of a SPDY/3.1 connection.
 * 1. While any stream's reader is behind, nothing is read from the connection: SPDY as spoken here has no windows, and what was not asked for is not kept.
 * 2. A stream is written to as fast as the connection takes it; its callback comes when it did.
 * 3. When the connection ends, every stream ends; none stays open behind it. A stream that is destroyed is reset.
 */
export class SpdyClientSession {
  readonly #connection: Duplex;
  readonly #blocks = new HeaderBlocks();
  readonly #reader = new SpdyFrameReader((frame) => this.#frame(frame));
  readonly #streams = new Map<number, SpdyStream>();
  readonly #onClose: (() => void)[] = [];
  #nextId = 1;
  #isClosed = false;

  /** `head`: bytes that came with the answer to the upgrade. */
  constructor(connection: Duplex, head: Buffer) {
    this.#connection = connection;
    connection.on('error', () => this.#closed());
    connection.on('end', () => this.#closed());
    connection.on('close', () => this.#closed());
    connection.on('data', (chunk: Buffer) => this.#read(chunk));
    if (head.length > 0) this.#read(head);
  }

  /** The peer may refuse it by a reset, which is seen as its end; so nobody waits for the answer before the next. */
  open(headers: Readonly<Record<string, string>>): SpdyStream {
    const stream = new SpdyStream(this.#nextId, {
      write: (data, done) => this.#write(dataFrames(stream.id, data), done),
      finish: (done) => this.#write([finFrame(stream.id)], done),
      wanted: () => this.#balance(),
      gone: (isReset) => this.#gone(stream, isReset),
    });
    this.#nextId += 2;
    this.#streams.set(stream.id, stream);
    this.#write([openFrame(stream.id, this.#blocks.encode(headers))], () => undefined);
    if (this.#isClosed) stream.remoteEnd('lost');
    return stream;
  }

  get openStreams(): number {
    return this.#streams.size;
  }

  onClose(listener: () => void): void {
    if (this.#isClosed) listener();
    else this.#onClose.push(listener);
  }

  /** Lets out what was written, and ends the connection. */
  close(): void {
    if (this.#isClosed) return;
    this.#connection.end(goAwayFrame(0), () => this.#connection.destroy());
    this.#closed();
  }

  #read(chunk: Buffer): void {
    if (this.#isClosed) return;
    try {
      this.#reader.push(chunk);
    } catch (error) {
      this.#connection.destroy(error instanceof Error ? error : undefined);
      this.#closed();
    }
  }

  #write(parts: readonly Uint8Array[], done: (error?: Error | null) => void): void {
    if (this.#isClosed || this.#connection.destroyed)
      return done(new KubeletError('Unavailable', 'the connection is closed'));
    const [last, ...before] = [...parts].reverse();
    if (last === undefined) return done();
    this.#connection.cork();
    for (const part of before.reverse()) this.#connection.write(part);
    this.#connection.write(last, done);
    this.#connection.uncork();
  }

  #frame(frame: SpdyFrame): void {
    switch (frame.kind) {
      case 'data':
        this.#streams.get(frame.streamId)?.remoteData(frame.data);
        if (frame.fin) this.#streams.get(frame.streamId)?.remoteEnd('finished');
        break;
      case 'reply':
        if (frame.fin) this.#streams.get(frame.streamId)?.remoteEnd('finished');
        break;
      case 'reset':
        this.#streams.get(frame.streamId)?.remoteEnd('reset');
        break;
      case 'ping':
        // Even ids are the server's own; odd ones would be answers, and nothing was asked.
        if (frame.id % 2 === 0) this.#write([pingFrame(frame.id)], () => undefined);
        break;
      case 'open':
        this.#write([resetFrame(frame.streamId, resetStatus.refusedStream)], () => undefined);
        break;
      case 'goAway':
        // The peer closes the connection when the streams are done; until then they go on.
        break;
    }
    this.#balance();
  }

  #balance(): void {
    if (this.#isClosed) return;
    const isAnyBehind = [...this.#streams.values()].some((stream) => stream.isBehind);
    if (isAnyBehind) this.#connection.pause();
    else if (this.#connection.isPaused()) this.#connection.resume();
  }

  #gone(stream: SpdyStream, isReset: boolean): void {
    if (!this.#streams.delete(stream.id)) return;
    if (isReset && !this.#isClosed) this.#write([resetFrame(stream.id, resetStatus.cancel)], () => undefined);
    this.#balance();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    for (const stream of [...this.#streams.values()]) stream.remoteEnd('lost');
    for (const listener of this.#onClose.splice(0)) listener();
  }
}

interface StreamLinks {
  write(data: Uint8Array, done: (error?: Error | null) => void): void;
  finish(done: (error?: Error | null) => void): void;
  wanted(): void;
  gone(isReset: boolean): void;
}

/** One stream. Both directions end on their own; `end()` is the half-close. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly #links: StreamLinks;
  #remote: StreamEnd = 'open';
  #isBehind = false;

  constructor(id: number, links: StreamLinks) {
    super();
    this.id = id;
    this.#links = links;
    // Whoever reads and writes hears of an end; a fault of one stream is no fault of the process.
    this.on('error', () => undefined);
  }

  get remote(): StreamEnd {
    return this.#remote;
  }

  get isBehind(): boolean {
    return this.#isBehind;
  }

  remoteData(data: Buffer): void {
    if (this.#remote !== 'open' || this.destroyed || data.length === 0) return;
    if (!this.push(data)) this.#isBehind = true;
  }

  remoteEnd(how: Exclude<StreamEnd, 'open'>): void {
    if (this.#remote !== 'open') return;
    this.#remote = how;
    this.#isBehind = false;
    this.push(null);
    // Nobody reads what would be written from here on.
    if (how !== 'finished') this.#endWriting();
  }

  #endWriting(): void {
    this.#links.gone(false);
    if (!this.writableFinished) this.once('end', () => this.destroy());
  }

  override _read(): void {
    this.#isBehind = false;
    this.#links.wanted();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    if (this.#remote === 'reset' || this.#remote === 'lost')
      done(new KubeletError('Unavailable', 'the stream was closed by the other side'));
    else this.#links.write(chunk, done);
  }

  override _final(done: (error?: Error | null) => void): void {
    if (this.#remote === 'reset' || this.#remote === 'lost') done();
    else this.#links.finish(done);
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    this.#isBehind = false;
    this.#links.gone(!(this.#remote === 'finished' && this.writableFinished));
    done(error);
  }
}
