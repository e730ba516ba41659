import { Duplex } from 'node:stream';
import type { Clock } from '../base/clock.ts';
import { KubeletError } from '../base/errors.ts';
import { endConnection } from './join-connections.ts';
import {
  dataFrames,
  finFrame,
  goAwayFrame,
  HeaderBlocks,
  openFrame,
  pingFrame,
  replyFrame,
  resetFrame,
  resetStatus,
  SpdyFrameReader,
} from './spdy-frames.ts';
import type { SpdyFrame } from './spdy-frames.ts';
import { HeaderBlockReader } from './spdy-header-reader.ts';

/**
 * How the reading side of a stream ended. A peer that has finished may reset the streams it left open, so a reset is an
 * end, too.
 */
export type StreamEnd = 'open' | 'finished' | 'reset' | 'lost';

/** Whether a stream that the peer opens is accepted. Header names are in lower case. */
export type StreamAcceptor = (stream: SpdyStream, headers: ReadonlyMap<string, string>) => boolean;

/** The limit for streams that a peer has open at the same time. A command needs at most five. */
const MOST_PEER_STREAMS = 16;

/**
 * One side of a SPDY/3.1 connection: the client, which opens streams, or, with `accept`, the server, which accepts
 * them.
 * 1. While the reader of any stream is behind, nothing is read from the connection: SPDY is used without windows here,
 *    and unread data is not buffered.
 * 2. A write to a stream completes when the connection has accepted its data.
 * 3. When the connection ends, every stream ends. A stream that is destroyed is reset.
 */
export class SpdySession {
  readonly #connection: Duplex;
  readonly #blocks = new HeaderBlocks();
  readonly #reader = new SpdyFrameReader((frame) => this.#frame(frame));
  readonly #streams = new Map<number, SpdyStream>();
  readonly #onClose: (() => void)[] = [];
  readonly #accept: StreamAcceptor | undefined;
  readonly #peerBlocks = new HeaderBlockReader();
  readonly #mostPeerStreams: number;
  #nextId = 1;
  #isClosed = false;

  /** `head`: bytes that were received together with the upgrade or its answer. */
  constructor(connection: Duplex, head: Buffer, accept?: StreamAcceptor, mostPeerStreams = MOST_PEER_STREAMS) {
    this.#connection = connection;
    this.#accept = accept;
    this.#mostPeerStreams = mostPeerStreams;
    connection.on('error', () => this.#closed());
    connection.on('end', () => this.#closed());
    connection.on('close', () => this.#closed());
    connection.on('data', (chunk: Buffer) => this.#read(chunk));
    if (head.length > 0) this.#read(head);
  }

  /** Opens a stream without waiting for the reply. If the peer refuses it with a reset, the stream ends. */
  open(headers: Readonly<Record<string, string>>): SpdyStream {
    const stream = this.#add(this.#nextId);
    this.#nextId += 2;
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

  /** Sends what was written, then closes the connection. The peer receives all of it only if it sends nothing more. */
  close(): void {
    if (this.#isClosed) return;
    this.#connection.end(goAwayFrame(0), () => this.#connection.destroy());
    this.#closed();
  }

  /** Like `close`, for a peer that may still send data. */
  finish(clock: Clock): void {
    if (this.#isClosed) return;
    this.#connection.write(goAwayFrame(0));
    endConnection(this.#connection, clock);
    this.#closed();
  }

  #add(id: number): SpdyStream {
    const stream: SpdyStream = new SpdyStream(id, {
      write: (data, done) => this.#write(dataFrames(id, data), done),
      finish: (done) => this.#write([finFrame(id)], done),
      wanted: () => this.#balance(),
      gone: (isReset) => this.#gone(stream, isReset),
    });
    this.#streams.set(id, stream);
    return stream;
  }

  /** Throws `Invalid` for headers that cannot be read, because later headers of the connection depend on them. */
  #opened({ streamId, headerBlock, fin }: SpdyFrame & { kind: 'open' }): void {
    const refuse = (status: number): void => this.#write([resetFrame(streamId, status)], () => undefined);
    if (this.#accept === undefined) return refuse(resetStatus.refusedStream);
    const headers = this.#peerBlocks.read(headerBlock);
    if (streamId % 2 === 0 || this.#streams.has(streamId)) return refuse(resetStatus.protocolError);
    if (this.#streams.size >= this.#mostPeerStreams) return refuse(resetStatus.refusedStream);
    const stream = this.#add(streamId);
    if (!this.#accept(stream, headers)) {
      this.#streams.delete(streamId);
      return refuse(resetStatus.refusedStream);
    }
    this.#write([replyFrame(streamId, this.#blocks.encode({}))], () => undefined);
    if (fin) stream.remoteEnd('finished');
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
        // Clients have the odd ids, servers the even ones. One of this side would be an answer, and nothing was asked.
        if ((frame.id % 2 === 1) === (this.#accept !== undefined)) this.#write([pingFrame(frame.id)], () => undefined);
        break;
      case 'open':
        this.#opened(frame);
        break;
      case 'goAway':
        // The peer closes the connection when the streams are done; until then they continue.
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

/** One stream. Its two directions end independently; `end()` closes the writing direction. */
export class SpdyStream extends Duplex {
  readonly id: number;
  readonly #links: StreamLinks;
  #remote: StreamEnd = 'open';
  #isBehind = false;

  constructor(id: number, links: StreamLinks) {
    super();
    this.id = id;
    this.#links = links;
    // Readers and writers see the end of the stream; an error of one stream must not end the process.
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
    // There is no reader for further writes.
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
