import { Buffer } from 'node:buffer';
import { createServer } from 'node:http';
import type { IncomingMessage, Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { constants, inflateSync } from 'node:zlib';
import {
  dataFrames,
  finFrame,
  goAwayFrame,
  HeaderBlocks,
  pingFrame,
  replyFrame,
  resetFrame,
  SpdyFrameReader,
} from '../spdy-frames.ts';

/**
 * The server's side of SPDY, as in moby/spdystream: no windows, a reply to every stream, and a reset for all streams
 * that are open at the end. It decompresses headers with zlib.
 */
export class FakeSpdyPeer {
  readonly connection: Duplex;
  readonly streams = new Map<
    number,
    { readonly headers: Record<string, string>; text: string; bytes: number; ended: 'open' | 'fin' | 'reset' }
  >();
  readonly pings: number[] = [];
  #isGone = false;
  readonly #blocks: Buffer[] = [];
  #known = 0;
  readonly #own = new HeaderBlocks();
  readonly #waiters: (() => void)[] = [];
  onStream: (id: number, headers: Record<string, string>) => void = () => undefined;
  onData: (id: number, data: Buffer) => void = () => undefined;

  constructor(connection: Duplex, head: Buffer) {
    this.connection = connection;
    const reader = new SpdyFrameReader((frame) => {
      const stream = 'streamId' in frame ? this.streams.get(frame.streamId) : undefined;
      if (frame.kind === 'open') {
        const headers = this.#headers(frame.headerBlock);
        this.streams.set(frame.streamId, { headers, text: '', bytes: 0, ended: frame.fin ? 'fin' : 'open' });
        connection.write(replyFrame(frame.streamId, this.#own.encode({})));
        this.onStream(frame.streamId, headers);
      } else if (frame.kind === 'data' && stream !== undefined) {
        stream.bytes += frame.data.length;
        if (stream.bytes < 100_000) stream.text += frame.data.toString('utf8');
        if (frame.fin) stream.ended = 'fin';
        this.onData(frame.streamId, frame.data);
      } else if (frame.kind === 'reset' && stream !== undefined) stream.ended = 'reset';
      else if (frame.kind === 'ping') this.pings.push(frame.id);
      else if (frame.kind === 'goAway') this.#isGone = true;
      for (const wake of this.#waiters.splice(0)) wake();
    });
    connection.on('data', (chunk: Buffer) => reader.push(chunk));
    connection.on('error', () => undefined);
    connection.on('close', () => this.#waiters.splice(0).forEach((wake) => wake()));
    if (head.length > 0) reader.push(head);
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  idOf(streamType: string): number {
    for (const [id, { headers }] of this.streams) if (headers['streamtype'] === streamType) return id;
    throw new Error(`no stream ${streamType}`);
  }

  streamOf(streamType: string): { readonly text: string; readonly bytes: number; readonly ended: string } | undefined {
    return [...this.streams.values()].find(({ headers }) => headers['streamtype'] === streamType);
  }

  send(streamType: string, data: Uint8Array | string): boolean {
    return dataFrames(this.idOf(streamType), Buffer.from(data))
      .map((part) => this.connection.write(part))
      .every((isTaken) => isTaken);
  }

  finish(streamType: string): void {
    this.connection.write(finFrame(this.idOf(streamType)));
  }

  reset(streamType: string): void {
    this.connection.write(resetFrame(this.idOf(streamType), 5));
  }

  ping(id: number): void {
    this.connection.write(pingFrame(id));
  }

  /** Ends as runtimes end a command: open streams are reset, then the connection is closed. */
  end(): void {
    for (const [id, { ended }] of this.streams) if (ended !== 'reset') this.connection.write(resetFrame(id, 5));
    this.connection.end(goAwayFrame(0));
  }

  async until(isSo: () => boolean): Promise<void> {
    while (!isSo()) await new Promise<void>((resolve) => this.#waiters.push(resolve));
  }

  #headers(block: Buffer): Record<string, string> {
    this.#blocks.push(Buffer.from(block));
    const plain = inflateSync(Buffer.concat(this.#blocks), { finishFlush: constants.Z_SYNC_FLUSH });
    let at = this.#known;
    this.#known = plain.length;
    const text = (): string => {
      const length = plain.readUInt32BE(at);
      at += 4 + length;
      return plain.toString('utf8', at - length, at);
    };
    const pairs = plain.readUInt32BE(at);
    at += 4;
    return Object.fromEntries(Array.from({ length: pairs }, () => [text(), text()]));
  }
}

/** A backend that switches to SPDY, or gives a scripted response. */
export class FakeSpdyServer {
  readonly requests: { readonly method: string; readonly url: string; readonly headers: IncomingMessage['headers'] }[] =
    [];
  readonly peers: FakeSpdyPeer[] = [];
  /** Sent instead of the upgrade. */
  refusal: string | undefined;
  /** Handles the upgraded connection without SPDY. */
  raw: ((connection: Duplex) => void) | undefined;
  onPeer: (peer: FakeSpdyPeer) => void = () => undefined;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  constructor() {
    this.#server = createServer((_request, response) => response.writeHead(400).end('Upgrade request required\n'));
    this.#server.on('connection', (socket: Socket) => {
      this.#sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('end', () => socket.end());
      socket.on('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('upgrade', (request, socket, head) => {
      this.requests.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers });
      if (this.refusal !== undefined) return void socket.resume().write(this.refusal);
      const asked = request.headers['x-stream-protocol-version'];
      const version = asked === undefined ? '' : `X-Stream-Protocol-Version: ${String(asked).split(',')[0]}\r\n`;
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n${version}\r\n`,
      );
      if (this.raw !== undefined) return this.raw(socket);
      const peer = new FakeSpdyPeer(socket, head);
      this.peers.push(peer);
      this.onPeer(peer);
    });
  }

  get openConnections(): number {
    return this.#sockets.size;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  dial(): Promise<Socket> {
    return new Promise((resolve, reject) => {
      const socket = connect(this.port, '127.0.0.1', () => resolve(socket));
      socket.once('error', reject);
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    return new Promise((resolve) => this.#server.close(() => resolve()));
  }
}
