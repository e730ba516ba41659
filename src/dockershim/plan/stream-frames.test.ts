import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { StreamFrames } from './stream-frames.ts';

const frame = (number: number, data: Uint8Array): Buffer => {
  const head = Buffer.alloc(8);
  head[0] = number;
  head.writeUInt32BE(data.length, 4);
  return Buffer.concat([head, data]);
};

describe('StreamFrames', () => {
  it('gives each stream its bytes in order, however they are split into chunks', () => {
    const part = fc.tuple(fc.constantFrom(1, 2), fc.uint8Array({ maxLength: 40 }));
    fc.assert(
      fc.property(fc.array(part, { maxLength: 15 }), fc.integer({ min: 1, max: 30 }), (parts, size) => {
        const bytes = Buffer.concat(parts.map(([number, data]) => frame(number, data)));
        const frames = new StreamFrames();
        const read = { stdout: [] as Buffer[], stderr: [] as Buffer[] };
        for (let at = 0; at < bytes.length; at += size)
          for (const { stream, data } of frames.push(bytes.subarray(at, at + size))) read[stream].push(data);
        for (const [number, name] of [
          [1, 'stdout'],
          [2, 'stderr'],
        ] as const) {
          const want = Buffer.concat(parts.filter(([each]) => each === number).map(([, data]) => data));
          assert.deepEqual(Buffer.concat(read[name]), want);
        }
      }),
    );
  });

  it('takes the errors of Docker itself, which have a number of their own, as output', () => {
    assert.deepEqual(new StreamFrames().push(frame(3, Buffer.from('no'))), [
      { stream: 'stdout', data: Buffer.from('no') },
    ]);
    assert.throws(() => new StreamFrames().push(frame(4, Buffer.from('no'))), { kind: 'Invalid' });
  });

  it('refuses what is not a frame', () => {
    assert.throws(() => new StreamFrames().push(Buffer.from('GET / HTTP')), { kind: 'Invalid' });
  });
});
