// Handwritten HTTP/2 frames, for input that no library sends.
import { once } from 'node:events';
import { connect } from 'node:tls';
import type { TLSSocket } from 'node:tls';

const types = {
  data: 0,
  headers: 1,
  priority: 2,
  reset: 3,
  settings: 4,
  ping: 6,
  goaway: 7,
  windowUpdate: 8,
  continuation: 9,
} as const;

export const endStream = 0x1;
export const endHeaders = 0x4;

export function frame(
  type: keyof typeof types,
  {
    flags = 0,
    stream = 0,
    payload = Buffer.alloc(0),
  }: { readonly flags?: number; readonly stream?: number; readonly payload?: Buffer } = {},
): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(types[type], 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** The connection preface of a client. */
const preface = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

/**
 * Encodes a header block without compression, in the given order: literals that are not indexed. Names and values must
 * not be longer than 126 bytes.
 */
function headerBlock(headers: readonly (readonly [name: string, value: string])[]): Buffer {
  const text = (value: string): Buffer => Buffer.concat([Buffer.from([value.length]), Buffer.from(value, 'latin1')]);
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

export const requestHead = (method: string, path: string, more: Readonly<Record<string, string>> = {}): Buffer =>
  headerBlock(
    Object.entries({ ':method': method, ':scheme': 'https', ':authority': 'localhost', ':path': path, ...more }),
  );

export interface RawHttp2 {
  readonly socket: TLSSocket;
  /** The types of the received frames. */
  readonly seen: readonly number[];
  readonly isClosed: () => boolean;
  /** Writes as fast as the socket accepts; stops when the server closes the connection. */
  flood(frames: Buffer, times: number): Promise<void>;
}

/**
 * Opens a connection whose preface is sent and whose settings are never acknowledged. With `read` false, nothing is
 * ever read.
 */
export async function rawHttp2(
  port: number,
  { read = true, settings = Buffer.alloc(0) }: { readonly read?: boolean; readonly settings?: Buffer } = {},
): Promise<RawHttp2> {
  const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  let isClosed = false;
  const seen: number[] = [];
  let rest = Buffer.alloc(0);
  socket.on('error', () => undefined);
  socket.on('close', () => (isClosed = true));
  await once(socket, 'secureConnect');
  if (read) {
    socket.on('data', (chunk: Buffer) => {
      rest = Buffer.concat([rest, chunk]);
      while (rest.length >= 9 && rest.length >= 9 + rest.readUIntBE(0, 3)) {
        seen.push(rest.readUInt8(3));
        rest = rest.subarray(9 + rest.readUIntBE(0, 3));
      }
    });
  } else socket.pause();
  socket.write(Buffer.concat([preface, frame('settings', { payload: settings })]));
  const flood = async (frames: Buffer, times: number): Promise<void> => {
    for (let sent = 0; sent < times && !isClosed && !socket.destroyed; sent++)
      if (!socket.write(frames) && !(await drained(socket))) return;
  };
  return { socket, seen, isClosed: () => isClosed, flood };
}

/** Whether the connection drained. It is false if the server accepts no more data or has closed the connection. */
function drained(socket: TLSSocket): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (answer: boolean) => (): void => {
      clearTimeout(timer);
      socket.off('drain', yes);
      socket.off('close', no);
      resolve(answer);
    };
    const [yes, no] = [settle(true), settle(false)];
    const timer = setTimeout(no, 500);
    socket.on('drain', yes);
    socket.on('close', no);
  });
}

/** One request over HTTP/2, frame by frame, without checks of a client library. */
export interface RawStream {
  /** The headers in this order, pseudo-headers first. Names and values must not be longer than 126 bytes. */
  readonly headers: readonly (readonly [name: string, value: string])[];
  /** The body; each part is sent in a separate DATA frame. If undefined, the stream ends with its head. */
  readonly data?: readonly string[];
}

/**
 * Sends the stream over a separate TLS connection. Resolves when the server has ended it, with its status if there was
 * a response.
 */
export async function sendStream(
  port: number,
  { headers, data }: RawStream,
): Promise<{ readonly status: number | undefined; readonly isReset: boolean }> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false, ALPNProtocols: ['h2'] });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  const parts = [
    preface,
    frame('settings'),
    frame('headers', {
      flags: endHeaders | (data === undefined ? endStream : 0),
      stream: 1,
      payload: headerBlock(headers),
    }),
  ];
  for (const [index, text] of (data ?? []).entries())
    parts.push(
      frame('data', {
        flags: index + 1 === data?.length ? endStream : 0,
        stream: 1,
        payload: Buffer.from(text, 'latin1'),
      }),
    );
  socket.write(Buffer.concat(parts));
  return new Promise((resolve) => {
    let seen = Buffer.alloc(0);
    let status: number | undefined;
    const done = (isReset: boolean): void => {
      socket.destroy();
      resolve({ status, isReset });
    };
    socket.on('close', () => done(true));
    socket.on('data', (chunk: Buffer) => {
      seen = Buffer.concat([seen, chunk]);
      while (seen.length >= 9 && seen.length >= 9 + seen.readUIntBE(0, 3)) {
        const length = seen.readUIntBE(0, 3);
        const [type, flags] = [seen[3], seen[4] ?? 0];
        const isOwn = seen.readUInt32BE(5) === 1;
        if (type === types.headers && isOwn) status = statusOf(seen.subarray(9, 9 + length));
        if (type === types.goaway || (type === types.reset && isOwn)) return done(true);
        if ((type === types.headers || type === types.data) && isOwn && (flags & endStream) === endStream)
          return done(false);
        seen = seen.subarray(9 + length);
      }
    });
  });
}

/**
 * Reads the status. Node sends `:status` first: indexed if the static table has it, else as a literal of three digits,
 * with or without Huffman coding.
 */
function statusOf(block: Buffer): number | undefined {
  const indexed = [200, 204, 206, 304, 400, 404, 500][(block[0] ?? 0) - 0x88];
  if (indexed !== undefined) return indexed;
  const length = (block[1] ?? 0) & 0x7f;
  const value = block.subarray(2, 2 + length);
  return ((block[1] ?? 0) & 0x80) === 0 ? Number(value.toString('latin1')) : Number(huffmanDigits(value));
}

/** Decodes Huffman digits. 0, 1 and 2 have codes of five bits, the other digits of six. */
function huffmanDigits(value: Buffer): string {
  const bits = [...value].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  let text = '';
  for (let at = 0; text.length < 3; ) {
    const short = Number.parseInt(bits.slice(at, at + 5), 2);
    text += short < 3 ? short : Number.parseInt(bits.slice(at, at + 6), 2) - 0x19 + 3;
    at += short < 3 ? 5 : 6;
  }
  return text;
}
