import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { parseCriLine, parseDockerLine } from './log-parse.ts';
import { LogDecoder } from './log-writer.ts';
import { findTailStart } from './tail-start.ts';

const bytes = (text: string): Uint8Array => Buffer.from(text);
const cri = (content: string, second = 0, tag = 'F', stream = 'stdout'): string =>
  `2026-01-31T15:04:${String(second).padStart(2, '0')}.5Z ${stream} ${tag} ${content}\n`;
const decode = (
  text: string,
  shape: Partial<ConstructorParameters<typeof LogDecoder>[0]> = {},
  cuts: readonly number[] = [],
): string => {
  const decoder = new LogDecoder({ timestamps: false, sinceMs: undefined, limitBytes: undefined, ...shape });
  const data = bytes(text);
  const edges = [0, ...cuts.map((cut) => cut % (data.length + 1)).sort((left, right) => left - right), data.length];
  const out = edges.slice(1).map((edge, index) => Buffer.from(decoder.push(data.subarray(edges[index], edge))));
  return Buffer.concat([...out, decoder.flush()]).toString();
};

describe('log decoding', () => {
  it('joins the pieces of a long line, and puts a timestamp of nine digits before whole lines only', () => {
    const text = cri('one ', 1, 'P') + cri('line', 1, 'F') + cri('', 2) + cri('b c', 3, 'F:x', 'stderr');
    assert.equal(decode(text), 'one line\n\nb c\n');
    assert.equal(
      decode(text, { timestamps: true }),
      '2026-01-31T15:04:01.500000000Z one line\n2026-01-31T15:04:02.500000000Z \n2026-01-31T15:04:03.500000000Z b c\n',
    );
  });

  it('reads json-file logs', () => {
    const line = (log: string): string =>
      `${JSON.stringify({ log, stream: 'stdout', time: '2026-01-31T15:04:05.1Z' })}\n`;
    assert.equal(
      decode(line('half ') + line('whole\n'), { timestamps: true }),
      '2026-01-31T15:04:05.100000000Z half whole\n',
    );
  });

  it('leaves out lines that are too old or invalid, and all beyond the limit', () => {
    assert.equal(
      decode(cri('old', 1) + 'garbage\n' + cri('new', 9), { sinceMs: Date.parse('2026-01-31T15:04:05Z') }),
      'new\n',
    );
    assert.equal(decode(cri('12345') + cri('6789'), { limitBytes: 8 }), '12345\n67');
    assert.deepEqual(
      ['', 'x', '2026 stdout F x\n', `${cri('x').replace('stdout', 'stdin')}`].map((line) => parseCriLine(bytes(line))),
      [undefined, undefined, undefined, undefined],
    );
    assert.deepEqual(
      ['{', '[]', '{"log":1,"stream":"stdout","time":""}'].map((line) => parseDockerLine(bytes(line))),
      [undefined, undefined, undefined],
    );
  });

  it('keeps to one stream when asked to, whole lines of it', () => {
    const text = cri('out ', 1, 'P') + cri('err', 2, 'F', 'stderr') + cri('line', 3) + cri('late', 4, 'F', 'stderr');
    assert.deepEqual(
      [decode(text, { stream: 'stdout' }), decode(text, { stream: 'stderr' })],
      ['out line\n', 'err\nlate\n'],
    );
  });

  const content = fc.string({ maxLength: 20 }).map((text) => text.replaceAll('\n', ' '));
  const entries = fc.array(fc.tuple(content, fc.boolean()), { maxLength: 30 });

  it('gives the same result however the file is split into chunks', () => {
    fc.assert(
      fc.property(entries, fc.array(fc.nat(2000)), (lines, cuts) => {
        const text = lines.map(([line, partial]) => cri(line, 1, partial ? 'P' : 'F')).join('');
        assert.equal(decode(text, {}, cuts), lines.map(([line, partial]) => (partial ? line : `${line}\n`)).join(''));
      }),
    );
  });

  it('finds the start of the last lines, never in the middle of one', async () => {
    await fc.assert(
      fc.asyncProperty(entries, fc.nat(8), fc.boolean(), async (lines, wanted, unfinished) => {
        const whole = lines.map(([line, partial]) => cri(line, 1, partial ? 'P' : 'F')).join('');
        const data = bytes(unfinished ? `${whole}2026-01-31T15:04:01Z stdout F unfin` : whole);
        const file = {
          read: async (offset: number, length: number) => data.subarray(offset, offset + Math.min(length, 100)),
        };
        const { offsetBytes } = await findTailStart(file, data.length, wanted);
        const ends = lines.filter(([, partial]) => !partial).length;
        const tail = decode(
          data
            .subarray(offsetBytes)
            .toString()
            .replace(/2026-01-31T15:04:01Z stdout F unfin$/, ''),
        );
        const all = lines.map(([line, partial]) => (partial ? line : `${line}\n`)).join('');
        assert.ok(all.endsWith(tail));
        assert.equal(tail.split('\n').length - 1, Math.min(wanted, ends));
        const before = all.slice(0, all.length - tail.length);
        assert.ok(before === '' || before.endsWith('\n'));
      }),
    );
  });

  it('finds it in large files by reading only their end', async () => {
    const data = bytes(Array.from({ length: 20_000 }, (_, index) => cri(`line ${index}`)).join(''));
    let read = 0;
    const file = {
      read: async (offset: number, length: number) => {
        read += length;
        return data.subarray(offset, offset + length);
      },
    };
    const { offsetBytes } = await findTailStart(file, data.length, 3);
    assert.equal(decode(data.subarray(offsetBytes).toString()), 'line 19997\nline 19998\nline 19999\n');
    assert.ok(read <= 64 * 1024);
  });
});
