import { Buffer } from 'node:buffer';
import { KubeletError } from '../../base/errors.ts';

/** Docker splits the output of a container into pieces of this size (the daemon's log copier). */
const MOST_PIECE_BYTES = 16 * 1024;
/** Room for a time stamp, a piece, and some more. */
const MOST_FRAME_BYTES = MOST_PIECE_BYTES + 256;
const FRAME_HEAD_BYTES = 8;
const NEW_LINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const SPACE = 0x20;
const streamNames = ['stdin', 'stdout', 'stderr'] as const;

export interface LogPiece {
  readonly stream: 'stdout' | 'stderr';
  /** RFC 3339 with nanoseconds, as in Docker's output. */
  readonly time: string;
  /** Without the line break. */
  readonly text: Buffer;
  /** The line continues in the next piece. */
  readonly isPartial: boolean;
}

/**
 * Reads the logs that Docker sends with time stamps: each piece is a frame with a stream number and a length. Throws
 * `Invalid` for what Docker never sends.
 */
export class LogFrames {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): LogPiece[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    const pieces: LogPiece[] = [];
    for (;;) {
      if (this.#rest.length < FRAME_HEAD_BYTES) return pieces;
      const length = this.#rest.readUInt32BE(4);
      const stream = streamNames[this.#rest[0] ?? 0];
      if (length > MOST_FRAME_BYTES || stream === undefined) throw new KubeletError('Invalid', 'not a log of Docker');
      const end = FRAME_HEAD_BYTES + length;
      if (this.#rest.length < end) return pieces;
      const piece = parsePiece(this.#rest.subarray(FRAME_HEAD_BYTES, end), stream === 'stderr' ? 'stderr' : 'stdout');
      this.#rest = this.#rest.subarray(end);
      if (piece !== undefined) pieces.push(piece);
    }
  }
}

function parsePiece(frame: Buffer, stream: LogPiece['stream']): LogPiece | undefined {
  const space = frame.indexOf(SPACE);
  if (space === -1) return undefined;
  const isPartial = frame.at(-1) !== NEW_LINE;
  const line = frame.subarray(space + 1, isPartial ? frame.length : frame.length - 1);
  // A terminal ends lines with both characters. Other runtimes remove both, too.
  const text = !isPartial && line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line;
  return { stream, time: frame.toString('latin1', 0, space), text, isPartial };
}

/**
 * Reads the logs of a container with a terminal: it has lines without frames. A piece of the maximum size that does not
 * end its line is followed by the next time stamp.
 */
export class TerminalLines {
  #rest: Buffer = Buffer.alloc(0);

  push(chunk: Uint8Array): LogPiece[] {
    this.#rest = this.#rest.length === 0 ? Buffer.from(chunk) : Buffer.concat([this.#rest, chunk]);
    const pieces: LogPiece[] = [];
    for (;;) {
      const end = this.#pieceEnd();
      if (end === undefined) return pieces;
      const piece = parsePiece(this.#rest.subarray(0, end), 'stdout');
      this.#rest = this.#rest.subarray(end);
      if (piece !== undefined) pieces.push(piece);
    }
  }

  /** The rest of the output, without a line break. */
  end(): LogPiece[] {
    const piece = parsePiece(this.#rest, 'stdout');
    this.#rest = Buffer.alloc(0);
    return piece === undefined ? [] : [piece];
  }

  #pieceEnd(): number | undefined {
    const line = this.#rest.indexOf(NEW_LINE);
    const space = this.#rest.indexOf(SPACE);
    const most = space === -1 ? MOST_FRAME_BYTES : space + 1 + MOST_PIECE_BYTES;
    if (line !== -1 && line <= most) return line + 1;
    return this.#rest.length >= most ? most : undefined;
  }
}

/** One line of the CRI's log format (upstream: kubelet/kuberuntime/logs). `P`: the line continues. */
export function criLogLine({ time, stream, text, isPartial }: LogPiece): Buffer {
  return Buffer.concat([Buffer.from(`${time} ${stream} ${isPartial ? 'P' : 'F'} `), text, Buffer.from('\n')]);
}

/** The end of a log file that the shim wrote: the time of its last line, and how many lines have this time. */
export interface LogEnd {
  readonly time: string;
  readonly lines: number;
}

/** Parses the last bytes of a log file; undefined when they contain no complete line. */
export function logEndOf(tail: string): LogEnd | undefined {
  const times = tail
    .split('\n')
    .slice(0, -1)
    .map((line) => /^(\S{20,40}) (?:stdout|stderr) [FP] /.exec(line)?.[1]);
  const time = times.at(-1);
  return time === undefined ? undefined : { time, lines: times.filter((each) => each === time).length };
}

/**
 * Skips lines that the file already has: Docker is asked for logs from the last time stamp on, including lines of
 * exactly that time.
 */
export class AlreadyWritten {
  readonly #time: string;
  #left: number;

  constructor(end: LogEnd | undefined) {
    this.#time = end?.time ?? '';
    this.#left = end?.lines ?? 0;
  }

  isNew(piece: LogPiece): boolean {
    if (this.#left === 0) return true;
    if (piece.time === this.#time) {
      this.#left -= 1;
      return false;
    }
    // Docker's time stamps have nanoseconds, but an older piece may still arrive.
    if (piece.time < this.#time) return false;
    this.#left = 0;
    return true;
  }
}
