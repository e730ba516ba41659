import { Buffer } from 'node:buffer';

/**
 * The part of a response that was read so far. `cut`: after the head was received, the connection ended or the body was
 * invalid.
 */
export type AnswerState =
  | { kind: 'more' }
  | { kind: 'answer'; status: number; location: string | undefined; body: string }
  | { kind: 'malformed'; message: string }
  | { kind: 'cut'; message: string };

const more: AnswerState = { kind: 'more' };
const statusLine = /^HTTP\/\d\.\d (\d{3})(?: |$)/;
const chunkedHeader = /^transfer-encoding:[^\n]*chunked/im;
const locationHeader = /^location:[ \t]*([^\r\n]*)/im;
const contentLength = /^content-length:[ \t]*([^\r\n]*)/im;
/** The maximum number of interim responses, as in Go's client. */
const MAX_INTERIM = 5;
const MAX_CHUNK_LINE_BYTES = 256;
const LF = 0x0a;
const EMPTY = Buffer.alloc(0);

export interface AnswerLimits {
  readonly headBytes: number;
  /** The maximum length of the body. The rest is cut off and not awaited. */
  readonly bodyBytes: number;
}

/**
 * Reads one HTTP/1 response to a GET. Only the status, `Location` and the beginning of the body are needed. Most
 * responses arrive in one piece, and nothing is copied. If one arrives in small pieces, each byte is searched only
 * once.
 */
export class AnswerReader {
  readonly #limits: AnswerLimits;
  #bytes: Buffer = EMPTY;
  /** The position in `#bytes` up to which the incomplete head was searched. */
  #searched = 0;
  #interim = 0;
  #head: { status: number; location: string | undefined; chunked: boolean; length: number | undefined } | undefined;
  #body: Buffer[] | undefined;
  #bodyBytes = 0;
  /** The remaining bytes of the current chunk; undefined between chunks. */
  #chunkLeft: number | undefined;

  constructor(limits: AnswerLimits) {
    this.#limits = limits;
  }

  /** The status and headers; undefined until they were received. Later errors are errors of the body. */
  get head(): { status: number; location: string | undefined } | undefined {
    return this.#head === undefined ? undefined : { status: this.#head.status, location: this.#head.location };
  }

  /** Reads a piece. The caller may reuse its memory afterwards. */
  push(piece: Buffer): AnswerState {
    this.#bytes = this.#bytes.length === 0 ? piece : Buffer.concat([this.#bytes, piece]);
    const state = this.#head === undefined ? this.#readHead() : this.#readBody();
    // Stored bytes must not refer to the caller's buffer.
    if (state.kind === 'more' && this.#bytes.buffer === piece.buffer) this.#bytes = Buffer.from(this.#bytes);
    return state;
  }

  /** Handles the end of the connection. */
  end(): AnswerState {
    if (this.#head === undefined) return { kind: 'cut', message: 'EOF' };
    // A body without a length ends with its connection.
    return this.#head.length === undefined && !this.#head.chunked
      ? this.#answer()
      : { kind: 'cut', message: 'unexpected EOF' };
  }

  #readHead(): AnswerState {
    for (;;) {
      const end = this.#findHeadEnd();
      if (end === undefined)
        return this.#bytes.length > this.#limits.headBytes
          ? {
              kind: 'malformed',
              message: `net/http: server response headers exceeded ${this.#limits.headBytes} bytes; aborted`,
            }
          : this.#readBeginning();
      const text = this.#bytes.toString('latin1', 0, end);
      this.#bytes = this.#bytes.subarray(end);
      this.#searched = 0;
      const firstLine = text.slice(0, text.indexOf('\n')).trimEnd();
      const status = Number(statusLine.exec(firstLine)?.[1]);
      if (Number.isNaN(status)) return { kind: 'malformed', message: malformed(firstLine) };
      // This is an interim response, which the final one follows.
      if (status >= 100 && status < 200 && status !== 101) {
        if (++this.#interim > MAX_INTERIM)
          return { kind: 'malformed', message: 'net/http: too many 1xx informational responses' };
        continue;
      }
      const chunked = chunkedHeader.test(text);
      const length = status === 204 || status === 304 || status === 101 ? 0 : lengthOf(text);
      this.#head = {
        status,
        location: status >= 300 && status < 400 ? headerOf(text, locationHeader) : undefined,
        chunked: chunked && length !== 0,
        length: chunked ? undefined : length,
      };
      return this.#readBody();
    }
  }

  /** Checks the beginning. Data that does not begin as HTTP never becomes HTTP, so there is no reason to wait. */
  #readBeginning(): AnswerState {
    const beginning = this.#bytes.toString('latin1', 0, 5);
    if ('HTTP/'.startsWith(beginning)) return more;
    const text = this.#bytes.toString('latin1', 0, 80);
    return { kind: 'malformed', message: malformed(text.split('\n', 1)[0]?.trimEnd() ?? '') };
  }

  #findHeadEnd(): number | undefined {
    const bytes = this.#bytes;
    for (let at = bytes.indexOf(LF, this.#searched); at >= 0; at = bytes.indexOf(LF, at + 1)) {
      if (bytes[at + 1] === LF) return at + 2;
      if (bytes[at + 1] === 0x0d && bytes[at + 2] === LF) return at + 3;
      if (at + 2 >= bytes.length) {
        this.#searched = at;
        return undefined;
      }
      this.#searched = at + 1;
    }
    return undefined;
  }

  #readBody(): AnswerState {
    const head = this.#head;
    if (head?.chunked === true) return this.#readChunks();
    // In the usual case the response is complete and in one piece.
    if (head?.length !== undefined && this.#body === undefined && this.#bytes.length >= head.length) {
      return {
        kind: 'answer',
        status: head.status,
        location: head.location,
        body: this.#bytes.toString('utf8', 0, Math.min(head.length, this.#limits.bodyBytes)),
      };
    }
    this.#take(this.#bytes.length);
    if (head?.length !== undefined && this.#bodyBytes >= head.length) return this.#answer(head.length);
    return this.#bodyBytes >= this.#limits.bodyBytes ? this.#answer() : more;
  }

  #readChunks(): AnswerState {
    for (;;) {
      if (this.#bodyBytes >= this.#limits.bodyBytes) return this.#answer();
      if (this.#chunkLeft === undefined) {
        const end = this.#bytes.indexOf(LF);
        if (end < 0)
          return this.#bytes.length > MAX_CHUNK_LINE_BYTES
            ? { kind: 'cut', message: 'malformed chunked encoding' }
            : more;
        const line = this.#bytes.toString('latin1', 0, end).trim();
        this.#bytes = this.#bytes.subarray(end + 1);
        // The line break after a chunk.
        if (line === '' && this.#body !== undefined) continue;
        const size = /^[0-9a-f]{1,8}(?=$|[;\s])/i.exec(line)?.[0];
        if (size === undefined) return { kind: 'cut', message: 'invalid byte in chunk length' };
        this.#chunkLeft = parseInt(size, 16);
        if (this.#chunkLeft === 0) return this.#answer();
      }
      if (this.#bytes.length === 0) return more;
      this.#chunkLeft -= this.#take(this.#chunkLeft);
      if (this.#chunkLeft === 0) this.#chunkLeft = undefined;
    }
  }

  #take(limit: number): number {
    const part = this.#bytes.subarray(0, limit);
    this.#bytes = this.#bytes.subarray(part.length);
    if (part.length > 0) (this.#body ??= []).push(Buffer.from(part));
    this.#bodyBytes += part.length;
    return part.length;
  }

  #answer(length = Infinity): AnswerState {
    const { status, location } = this.#head ?? { status: 0, location: undefined };
    const whole = this.#body?.length === 1 ? (this.#body[0] as Buffer) : Buffer.concat(this.#body ?? []);
    return {
      kind: 'answer',
      status,
      location,
      body: whole.toString('utf8', 0, Math.min(whole.length, length, this.#limits.bodyBytes)),
    };
  }
}

const malformed = (line: string): string =>
  `net/http: HTTP/1.x transport connection broken: malformed HTTP response ${JSON.stringify(line)}`;

function lengthOf(head: string): number | undefined {
  const text = headerOf(head, contentLength);
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Returns the value of a header; undefined if it is missing or empty. */
function headerOf(head: string, header: RegExp): string | undefined {
  const found = header.exec(head)?.[1]?.trim();
  return found === '' ? undefined : found;
}
