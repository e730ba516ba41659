import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import { constants, deflateSync, inflateSync } from 'node:zlib';
import fc from 'fast-check';
import { isKind } from '../base/errors.ts';
import {
  dataFrames,
  finFrame,
  goAwayFrame,
  HeaderBlocks,
  openFrame,
  pingFrame,
  replyFrame,
  resetFrame,
  SpdyFrameReader,
} from './spdy-frames.ts';
import type { SpdyFrame } from './spdy-frames.ts';

/** Parses the chunks and joins the data pieces of each frame. */
function readAll(chunks: readonly Buffer[]): unknown[] {
  const frames: unknown[] = [];
  let data: Buffer[] = [];
  const reader = new SpdyFrameReader((frame: SpdyFrame) => {
    if (frame.kind === 'data') data.push(Buffer.from(frame.data));
    else frames.push('headerBlock' in frame ? { ...frame, headerBlock: frame.headerBlock.toString('hex') } : frame);
    if (frame.kind === 'data' && frame.fin) {
      frames.push({ streamId: frame.streamId, data: Buffer.concat(data).toString('hex') });
      data = [];
    }
  });
  for (const chunk of chunks) reader.push(chunk);
  return frames;
}

describe('SPDY frames', () => {
  it('are the same, however the bytes arrive', () => {
    const id = fc.integer({ min: 1, max: 0x7fff_ffff });
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 300 }).map((each) => Buffer.from(each));
    const frame = fc.oneof(
      fc.tuple(id, bytes).map(([streamId, data]) => Buffer.concat([...dataFrames(streamId, data), finFrame(streamId)])),
      fc.tuple(id, bytes).map(([streamId, block]) => openFrame(streamId, block)),
      id.map((streamId) => replyFrame(streamId, Buffer.of(1, 2, 3))),
      id.map((streamId) => resetFrame(streamId, 5)),
      id.map(pingFrame),
      fc.constant(goAwayFrame(0)),
    );
    fc.assert(
      fc.property(
        fc.array(frame, { minLength: 1, maxLength: 8 }),
        fc.array(fc.integer({ min: 1, max: 50 }), { minLength: 1 }),
        (frames, sizes) => {
          const whole = Buffer.concat(frames);
          const pieces: Buffer[] = [];
          for (let at = 0, index = 0; at < whole.length; index++) {
            const next = Math.min(whole.length, at + (sizes[index % sizes.length] ?? 1));
            pieces.push(whole.subarray(at, next));
            at = next;
          }
          assert.deepEqual(readAll(pieces), readAll([whole]));
          assert.equal(readAll([whole]).length, frames.length);
        },
      ),
    );
  });

  it('have headers that any zlib reads, block after block in one stream', () => {
    const pair = fc.tuple(fc.stringMatching(/^[a-z]{1,10}$/), fc.string());
    fc.assert(
      fc.property(fc.array(fc.array(pair, { maxLength: 4 }), { minLength: 1, maxLength: 5 }), (blocks) => {
        const encoder = new HeaderBlocks();
        const encoded = blocks.map((pairs) => encoder.encode(Object.fromEntries(pairs)));
        const plain = inflateSync(Buffer.concat(encoded), { finishFlush: constants.Z_SYNC_FLUSH });
        let expected = 0;
        for (const pairs of blocks) {
          expected += 4;
          for (const [name, value] of Object.entries(Object.fromEntries(pairs)))
            expected += 8 + Buffer.byteLength(name) + Buffer.byteLength(value);
        }
        assert.equal(plain.length, expected);
      }),
    );
  });

  it('of other kinds are passed over', () => {
    const settings = Buffer.concat([Buffer.of(0x80, 3, 0, 4, 0, 0, 0, 4), Buffer.alloc(4)]);
    const window = Buffer.concat([Buffer.of(0x80, 3, 0, 9, 0, 0, 0, 8), Buffer.alloc(8)]);
    assert.deepEqual(readAll([Buffer.concat([settings, window, pingFrame(2)])]), [{ kind: 'ping', id: 2 }]);
  });

  it('that are none end the reading: another protocol, a frame without an end, one too short for what it is', () => {
    const wrong = [
      Buffer.from('GET / HTTP/1.1\r\n').map((byte, index) => (index === 0 ? 0xff : byte)),
      Buffer.of(0x80, 3, 0, 1, 0, 0xff, 0xff, 0xff),
      Buffer.of(0x80, 3, 0, 3, 0, 0, 0, 4, 0, 0, 0, 1),
    ];
    for (const bytes of wrong)
      assert.throws(
        () => readAll([Buffer.from(bytes)]),
        (error) => isKind(error, 'Invalid'),
      );
  });

  it('survive whatever a peer sends: they are read or refused, and at most one control frame is kept', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        try {
          readAll([Buffer.from(bytes), deflateSync(bytes)]);
        } catch (error) {
          assert.ok(isKind(error, 'Invalid'));
        }
      }),
    );
  });

  it('of more than a megabyte are several', () => {
    const parts = dataFrames(1, Buffer.alloc(2_500_000, 7));
    assert.equal(parts.length, 6);
    assert.equal(
      parts.reduce((sum, part) => sum + part.length, 0),
      2_500_000 + 3 * 8,
    );
  });
});
