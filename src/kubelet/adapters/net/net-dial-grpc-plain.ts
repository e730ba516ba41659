import { Buffer } from 'node:buffer';
import net from 'node:net';

/** The frame types of HTTP/2 (RFC 9113, section 6) that are used here. */
const DATA = 0x0;
const HEADERS = 0x1;
const RST_STREAM = 0x3;
const SETTINGS = 0x4;
const PING = 0x6;
const GOAWAY = 0x7;
const ACK = 0x1;
const END_STREAM = 0x1;
const PADDED = 0x8;
const END_HEADERS = 0x4;
const FRAME_HEAD_BYTES = 9;
const MESSAGE_HEAD_BYTES = 5;
/** The size limit of an answer. A health response has two bytes and a few frames. */
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_FRAMES = 256;

const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 'latin1');
const sharedBuffer = Buffer.allocUnsafeSlow(32 * 1024);

function frame(type: number, flags: number, streamId: number, payload: Uint8Array): Buffer {
  const head = Buffer.alloc(FRAME_HEAD_BYTES);
  head.writeUIntBE(payload.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(streamId, 5);
  return Buffer.concat([head, payload]);
}

/**
 * Encodes an HPACK literal that is not added to a table. `name` is an index of the static table (RFC 7541, appendix A),
 * or the name itself.
 */
function literal(name: number | string, value: string): Buffer {
  const named =
    typeof name === 'string'
      ? [Buffer.from([0, name.length]), Buffer.from(name, 'latin1')]
      : [Buffer.from(name < 15 ? [name] : [15, name - 15])];
  return Buffer.concat([...named, Buffer.from([value.length]), Buffer.from(value, 'latin1')]);
}

/** Returns all data that a health check sends: preface, settings, headers and the message. */
export function healthCheckBytes(authority: string, message: Uint8Array): Buffer {
  const headers = Buffer.concat([
    // :method POST, :scheme http
    Buffer.from([0x83, 0x86]),
    literal(4, '/grpc.health.v1.Health/Check'),
    literal(1, authority),
    literal(31, 'application/grpc'),
    literal(58, 'kube-probe/1.36'),
    literal('te', 'trailers'),
  ]);
  const head = Buffer.alloc(MESSAGE_HEAD_BYTES);
  head.writeUInt32BE(message.length, 1);
  return Buffer.concat([
    PREFACE,
    frame(SETTINGS, 0, 0, Buffer.alloc(0)),
    frame(HEADERS, END_HEADERS, 1, headers),
    frame(DATA, END_STREAM, 1, Buffer.concat([head, message])),
  ]);
}

/** `odd` means anything except one message and an orderly end. */
type Reading = { kind: 'more'; reply: Buffer | undefined } | { kind: 'message'; bytes: Buffer } | { kind: 'odd' };

/** Reads the response to a health check up to its message. */
export class HealthAnswerReader {
  #bytes: Buffer = Buffer.alloc(0);
  #message: Buffer = Buffer.alloc(0);
  #frames = 0;

  push(bytes: Uint8Array): Reading {
    this.#bytes = Buffer.concat([this.#bytes, bytes]);
    const replies: Buffer[] = [];
    for (;;) {
      if (this.#bytes.length > MAX_ANSWER_BYTES) return { kind: 'odd' };
      if (this.#bytes.length < FRAME_HEAD_BYTES) break;
      const size = this.#bytes.readUIntBE(0, 3);
      if (this.#bytes.length < FRAME_HEAD_BYTES + size) break;
      if (++this.#frames > MAX_FRAMES) return { kind: 'odd' };
      const [type = 0, flags = 0] = this.#bytes.subarray(3, 5);
      const payload = this.#bytes.subarray(FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + size);
      this.#bytes = this.#bytes.subarray(FRAME_HEAD_BYTES + size);
      if (type === SETTINGS && (flags & ACK) === 0) replies.push(frame(SETTINGS, ACK, 0, Buffer.alloc(0)));
      else if (type === PING && (flags & ACK) === 0) replies.push(frame(PING, ACK, 0, payload));
      else if (type === RST_STREAM || type === GOAWAY) return { kind: 'odd' };
      else if (type === DATA) this.#message = Buffer.concat([this.#message, withoutPadding(payload, flags)]);
      if ((type === DATA || type === HEADERS) && (flags & END_STREAM) !== 0) return this.#finish();
    }
    return { kind: 'more', reply: replies.length === 0 ? undefined : Buffer.concat(replies) };
  }

  #finish(): Reading {
    const message = this.#message;
    const whole =
      message.length >= MESSAGE_HEAD_BYTES &&
      message[0] === 0 &&
      message.readUInt32BE(1) === message.length - MESSAGE_HEAD_BYTES;
    return whole ? { kind: 'message', bytes: message.subarray(MESSAGE_HEAD_BYTES) } : { kind: 'odd' };
  }
}

function withoutPadding(payload: Buffer, flags: number): Buffer {
  return (flags & PADDED) === 0 ? payload : payload.subarray(1, Math.max(1, payload.length - (payload[0] ?? 0)));
}

/**
 * Makes a health check over a plain connection, for the usual case that the server answers with one message. Resolves
 * to the message, or to undefined in all other cases, such as a refused connection, an error status or the deadline. A
 * full client then finds the cause; it costs seven times as much.
 */
export function checkPlain(
  to: { host: string; port: number; timeoutMs: number; bytes: Buffer },
  signal?: AbortSignal,
): Promise<Buffer | undefined> {
  return new Promise((resolve) => {
    if (signal?.aborted === true) return resolve(undefined);
    const reader = new HealthAnswerReader();
    let over = false;
    const finish = (message?: Buffer): void => {
      if (over) return;
      over = true;
      clearTimeout(timer);
      signal?.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(message);
    };
    const giveUp = (): void => finish();
    const take = (bytes: Uint8Array): void => {
      const reading = reader.push(bytes);
      if (reading.kind === 'message') finish(reading.bytes);
      else if (reading.kind === 'odd') finish();
      else if (reading.reply !== undefined) socket.write(reading.reply);
    };
    const socket = net.connect({
      host: to.host,
      port: to.port,
      onread: {
        buffer: sharedBuffer,
        callback: (size, buffer) => {
          if (!over) take(buffer.subarray(0, size));
          return !over;
        },
      },
    });
    const timer = setTimeout(giveUp, Math.min(to.timeoutMs, 2 ** 31 - 1));
    signal?.addEventListener('abort', giveUp);
    socket.on('error', giveUp);
    socket.on('end', giveUp);
    socket.write(to.bytes);
  });
}
