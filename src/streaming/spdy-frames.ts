import { Buffer } from 'node:buffer';
import { KubeletError } from '../base/errors.ts';

/** Frame types of SPDY/3.1 (the public draft 3.1). */
const types = { open: 1, reply: 2, reset: 3, ping: 6, goAway: 7 } as const;
const CONTROL = 0x8003_0000;
const FIN = 1;
const HEAD_BYTES = 8;
/** Kubernetes sends no control frame of this size; a larger one is an error. */
const MOST_CONTROL_BYTES = 64 * 1024;
/** A write may be longer than the 24 bits of a frame's length allow. Small frames also let the streams alternate. */
const MOST_DATA_BYTES = 1024 * 1024;

export const resetStatus = { protocolError: 1, refusedStream: 3, cancel: 5 } as const;

/** One parsed frame. Data is delivered in pieces as it arrives; `fin` is set on the last piece of a frame. */
export type SpdyFrame =
  | { readonly kind: 'data'; readonly streamId: number; readonly data: Buffer; readonly fin: boolean }
  | { readonly kind: 'open'; readonly streamId: number; readonly headerBlock: Buffer; readonly fin: boolean }
  | { readonly kind: 'reply'; readonly streamId: number; readonly fin: boolean }
  | { readonly kind: 'reset'; readonly streamId: number; readonly status: number }
  | { readonly kind: 'ping'; readonly id: number }
  | { readonly kind: 'goAway' };

/**
 * Encodes the header blocks of one connection. SPDY requires one zlib stream for all of them. zlib allows uncompressed
 * blocks, which are used here: they need neither the dictionary of the standard, nor a thread, nor a compressor with
 * 256 KiB for each connection.
 */
export class HeaderBlocks {
  #isFirst = true;

  encode(headers: Readonly<Record<string, string>>): Buffer {
    const pairs = Object.entries(headers).flatMap(([name, value]) => [sized(name.toLowerCase()), sized(value)]);
    const plain = Buffer.concat([uint32(pairs.length / 2), ...pairs]);
    if (plain.length > 0xffff) throw new KubeletError('Invalid', 'the headers of a stream are too long');
    const size = Buffer.alloc(5);
    size.writeUInt16LE(plain.length, 1);
    size.writeUInt16LE(~plain.length & 0xffff, 3);
    // The zlib header once; then an uncompressed block, and an empty one that makes readers flush.
    const start = this.#isFirst ? [Buffer.of(0x78, 0x01)] : [];
    this.#isFirst = false;
    return Buffer.concat([...start, size, plain, Buffer.of(0, 0, 0, 0xff, 0xff)]);
  }
}

export const openFrame = (streamId: number, headerBlock: Buffer): Buffer =>
  control(types.open, Buffer.concat([uint32(streamId), uint32(0), Buffer.of(0, 0), headerBlock]));
export const replyFrame = (streamId: number, headerBlock: Buffer): Buffer =>
  control(types.reply, Buffer.concat([uint32(streamId), headerBlock]));
export const resetFrame = (streamId: number, status: number): Buffer =>
  control(types.reset, Buffer.concat([uint32(streamId), uint32(status)]));
export const pingFrame = (id: number): Buffer => control(types.ping, uint32(id));
export const goAwayFrame = (lastStreamId: number): Buffer =>
  control(types.goAway, Buffer.concat([uint32(lastStreamId), uint32(0)]));
export const finFrame = (streamId: number): Buffer => dataHead(streamId, 0, FIN);

/** `data` split into as many frames as it needs. */
export function dataFrames(streamId: number, data: Uint8Array): readonly Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < data.length; at += MOST_DATA_BYTES) {
    const piece = data.subarray(at, at + MOST_DATA_BYTES);
    parts.push(dataHead(streamId, piece.length, 0), piece);
  }
  return parts;
}

function dataHead(streamId: number, lengthBytes: number, flags: number): Buffer {
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32BE(streamId, 0);
  head.writeUInt32BE(flags * 0x100_0000 + lengthBytes, 4);
  return head;
}

function control(type: number, payload: Buffer): Buffer {
  return Buffer.concat([uint32(CONTROL + type), uint32(payload.length), payload]);
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

const sized = (text: string): Buffer => {
  const bytes = Buffer.from(text, 'utf8');
  return Buffer.concat([uint32(bytes.length), bytes]);
};

/** What is being read: the 8-byte header of a frame, a whole control frame, or the rest of a data frame. */
type Reading =
  | { at: 'head' }
  | { at: 'control'; type: number; flags: number; lengthBytes: number }
  | { at: 'data'; streamId: number; fin: boolean; leftBytes: number };

/**
 * Splits the received bytes into frames. It buffers at most one control frame, and no data. Throws `Invalid` for
 * anything but SPDY/3.1; the connection cannot be used after that.
 */
export class SpdyFrameReader {
  readonly #onFrame: (frame: SpdyFrame) => void;
  #kept: Buffer = Buffer.alloc(0);
  #reading: Reading = { at: 'head' };

  constructor(onFrame: (frame: SpdyFrame) => void) {
    this.#onFrame = onFrame;
  }

  push(chunk: Buffer): void {
    let rest = this.#kept.length === 0 ? chunk : Buffer.concat([this.#kept, chunk]);
    for (;;) {
      const taken = this.#step(rest);
      if (taken < 0) break;
      rest = rest.subarray(taken);
    }
    // A copy: a small rest must not keep a large chunk alive.
    this.#kept = rest.length === 0 ? rest : Buffer.from(rest);
  }

  /** The number of bytes used; negative: more bytes are needed. */
  #step(bytes: Buffer): number {
    const reading = this.#reading;
    switch (reading.at) {
      case 'head':
        return this.#head(bytes);
      case 'control':
        if (bytes.length < reading.lengthBytes) return -1;
        this.#reading = { at: 'head' };
        this.#control(reading, bytes.subarray(0, reading.lengthBytes));
        return reading.lengthBytes;
      case 'data':
        return this.#data(reading, bytes);
    }
  }

  #head(bytes: Buffer): number {
    if (bytes.length < HEAD_BYTES) return -1;
    const first = bytes.readUInt32BE(0);
    const flags = bytes[4] as number;
    const lengthBytes = bytes.readUIntBE(5, 3);
    if (first < 0x8000_0000) {
      this.#reading = { at: 'data', streamId: first, fin: (flags & FIN) !== 0, leftBytes: lengthBytes };
      // An empty frame has nothing that could be waited for.
      if (lengthBytes === 0) this.#data(this.#reading, bytes.subarray(0, 0));
      return HEAD_BYTES;
    }
    if ((first & 0x7fff_0000) !== (CONTROL & 0x7fff_0000))
      throw new KubeletError('Invalid', 'the peer does not speak SPDY/3.1');
    if (lengthBytes > MOST_CONTROL_BYTES) throw new KubeletError('Invalid', `a control frame of ${lengthBytes} bytes`);
    this.#reading = { at: 'control', type: first & 0xffff, flags, lengthBytes };
    return HEAD_BYTES;
  }

  #data(reading: Reading & { at: 'data' }, bytes: Buffer): number {
    if (bytes.length === 0 && reading.leftBytes > 0) return -1;
    const piece = bytes.subarray(0, reading.leftBytes);
    reading.leftBytes -= piece.length;
    const isLast = reading.leftBytes === 0;
    if (isLast) this.#reading = { at: 'head' };
    this.#onFrame({ kind: 'data', streamId: reading.streamId, data: piece, fin: isLast && reading.fin });
    return piece.length;
  }

  /** Ignores settings, headers, window updates and unknown frames: moby/spdystream neither sends nor obeys windows. */
  #control({ type, flags }: Reading & { at: 'control' }, payload: Buffer): void {
    const needed = { [types.open]: 10, [types.reply]: 4, [types.reset]: 8, [types.ping]: 4 }[type] ?? 0;
    if (payload.length < needed)
      throw new KubeletError('Invalid', `a control frame of type ${type} with ${payload.length} bytes`);
    const fin = (flags & FIN) !== 0;
    const streamId = payload.length < 4 ? 0 : payload.readUInt32BE(0) & 0x7fff_ffff;
    if (type === types.open) this.#onFrame({ kind: 'open', streamId, headerBlock: payload.subarray(10), fin });
    else if (type === types.reply) this.#onFrame({ kind: 'reply', streamId, fin });
    else if (type === types.reset) this.#onFrame({ kind: 'reset', streamId, status: payload.readUInt32BE(4) });
    else if (type === types.ping) this.#onFrame({ kind: 'ping', id: payload.readUInt32BE(0) });
    else if (type === types.goAway) this.#onFrame({ kind: 'goAway' });
  }
}
