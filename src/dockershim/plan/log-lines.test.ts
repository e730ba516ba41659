import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { AlreadyWritten, criLogLine, LogFrames, logEndOf, TerminalLines } from './log-lines.ts';
import type { LogPiece } from './log-lines.ts';

const PIECE = 16 * 1024;
const timeOf = (index: number): string => `2026-11-23T16:42:32.${String(index).padStart(9, '0')}Z`;

interface Written {
  readonly stream: 'stdout' | 'stderr';
  readonly text: Buffer;
  readonly isPartial: boolean;
}

/** As Docker sends it: one frame for each piece, which starts with a time stamp. */
function frame({ stream, text, isPartial }: Written, index: number): Buffer {
  const body = Buffer.concat([Buffer.from(`${timeOf(index)} `), text, Buffer.from(isPartial ? '' : '\n')]);
  const head = Buffer.alloc(8);
  head[0] = stream === 'stderr' ? 2 : 1;
  head.writeUInt32BE(body.length, 4);
  return Buffer.concat([head, body]);
}

function inChunks(bytes: Buffer, sizes: readonly number[]): Buffer[] {
  const chunks: Buffer[] = [];
  let at = 0;
  for (let index = 0; at < bytes.length; index += 1) {
    const size = sizes[index % sizes.length] ?? 1;
    chunks.push(bytes.subarray(at, at + size));
    at += size;
  }
  return chunks;
}

const shown = ({ stream, time, text, isPartial }: LogPiece): string =>
  `${time} ${stream} ${isPartial} ${text.toString('latin1')}`;

const line = fc
  .uint8Array({ maxLength: 60 })
  .map((bytes) => Buffer.from(bytes.map((byte) => (byte === 10 || byte === 13 ? 32 : byte))));
const sizes = fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1, maxLength: 10 });

describe('Docker logs', () => {
  it('are parsed the same however they are split into chunks', () => {
    const piece = fc.record({
      stream: fc.constantFrom('stdout' as const, 'stderr' as const),
      text: line,
      isPartial: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 20 }), sizes, (pieces, cuts) => {
        // A piece that ends with a line break completes its line, so Docker never writes a partial piece with one.
        const reader = new LogFrames();
        const read = inChunks(Buffer.concat(pieces.map(frame)), cuts).flatMap((chunk) => reader.push(chunk));
        const want = pieces.map((each, index) => shown({ ...each, time: timeOf(index) }));
        assert.deepEqual(read.map(shown), want);
      }),
    );
  });

  it('of a terminal are parsed the same however they are split into chunks', () => {
    fc.assert(
      fc.property(fc.array(line, { maxLength: 20 }), sizes, (lines, cuts) => {
        const bytes = Buffer.concat(
          lines.map((text, index) => Buffer.concat([Buffer.from(`${timeOf(index)} `), text, Buffer.from('\n')])),
        );
        const reader = new TerminalLines();
        const read = inChunks(bytes, cuts).flatMap((chunk) => reader.push(chunk));
        assert.deepEqual(
          read.map(shown),
          lines.map((text, index) => shown({ stream: 'stdout', time: timeOf(index), text, isPartial: false })),
        );
        assert.deepEqual(reader.end(), []);
      }),
    );
  });

  it('of a terminal cut a long line where Docker cut it', () => {
    const long = Buffer.alloc(PIECE, 'a');
    const bytes = Buffer.concat([
      Buffer.from(`${timeOf(0)} `),
      long,
      Buffer.from(`${timeOf(0)} rest\n${timeOf(1)} open`),
    ]);
    const reader = new TerminalLines();
    const read = [...reader.push(bytes), ...reader.end()];
    assert.deepEqual(
      read.map(({ text, isPartial }) => [text.length, isPartial]),
      [
        [PIECE, true],
        [4, false],
        [4, true],
      ],
    );
  });

  it('lose the carriage return that a terminal writes before the end of a line', () => {
    const reader = new TerminalLines();
    const [piece] = reader.push(Buffer.from(`${timeOf(0)} hi\r\n`));
    assert.equal(piece?.text.toString(), 'hi');
  });

  it('refuse what Docker never sends', () => {
    assert.throws(() => new LogFrames().push(Buffer.from([9, 0, 0, 0, 0, 0, 0, 1])), { kind: 'Invalid' });
    assert.throws(() => new LogFrames().push(Buffer.from([1, 0, 0, 0, 255, 0, 0, 1])), { kind: 'Invalid' });
  });

  it("are written in the CRI's format", () => {
    const piece = { stream: 'stderr', time: timeOf(1), text: Buffer.from('oh'), isPartial: false } as const;
    assert.equal(criLogLine(piece).toString(), `${timeOf(1)} stderr F oh\n`);
    assert.equal(criLogLine({ ...piece, isPartial: true }).toString(), `${timeOf(1)} stderr P oh\n`);
  });
});

describe('a log that continues after a restart', () => {
  const piece = (time: string, text: string): LogPiece => ({
    stream: 'stdout',
    time,
    text: Buffer.from(text),
    isPartial: false,
  });

  it('finds its end by the last complete line', () => {
    const tail = `${timeOf(1)} stdout F a\n${timeOf(2)} stdout F b\n${timeOf(2)} stderr P c\n${timeOf(3)} std`;
    assert.deepEqual(logEndOf(tail), { time: timeOf(2), lines: 2 });
    assert.equal(logEndOf(''), undefined);
    assert.equal(logEndOf('no log\n'), undefined);
  });

  it('has each line once, whatever the time stamps', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(3), { maxLength: 30 }), fc.nat(30), (steps, cut) => {
        let time = 0;
        const all = steps.map((step, index) => piece(timeOf((time += step)), String(index)));
        const before = all.slice(0, cut);
        const file = before.map(criLogLine).join('');
        const end = logEndOf(file);
        // The shim asks Docker for everything since the last time stamp.
        const again = end === undefined ? all : all.filter(({ time: each }) => each >= end.time);
        const written = new AlreadyWritten(end);
        const rest = again.filter((each) => written.isNew(each));
        assert.deepEqual([...before, ...rest].map(shown), all.map(shown));
      }),
    );
  });
});
