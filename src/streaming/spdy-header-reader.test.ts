import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import { constants, createDeflate } from 'node:zlib';
import { HeaderBlocks } from './spdy-frames.ts';
import { HeaderBlockReader, SPDY_DICTIONARY } from './spdy-header-reader.ts';

const sized = (text: string): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(Buffer.byteLength(text));
  return Buffer.concat([length, Buffer.from(text)]);
};

const plain = (headers: Readonly<Record<string, string>>): Buffer => {
  const count = Buffer.alloc(4);
  count.writeUInt32BE(Object.keys(headers).length);
  return Buffer.concat([count, ...Object.entries(headers).flatMap(([name, value]) => [sized(name), sized(value)])]);
};

/** Encodes blocks as Go's client does: one zlib stream with the dictionary, flushed after each block. */
async function packed(...blocks: readonly Buffer[]): Promise<Buffer[]> {
  const deflate = createDeflate({ dictionary: SPDY_DICTIONARY, level: 9, finishFlush: constants.Z_SYNC_FLUSH });
  const chunks: Buffer[] = [];
  deflate.on('data', (chunk: Buffer) => chunks.push(chunk));
  const parts: Buffer[] = [];
  for (const block of blocks) {
    deflate.write(block);
    await new Promise<void>((resolve) => deflate.flush(constants.Z_SYNC_FLUSH, () => resolve()));
    parts.push(Buffer.concat(chunks.splice(0)));
  }
  return parts;
}

describe('SPDY header blocks', () => {
  it('are packed with the dictionary of the standard, whose checksum stands in what clients send', async () => {
    const [block = Buffer.alloc(0)] = await packed(plain({}));
    assert.deepEqual([SPDY_DICTIONARY.length, block.subarray(2, 6).toString('hex')], [1423, 'e3c6a7c2']);
  });

  it('are read one after the other, with names in lower case', async () => {
    const reader = new HeaderBlockReader();
    const blocks = await packed(plain({ Streamtype: 'error' }), plain({ streamType: 'stdin', port: '80' }), plain({}));
    assert.deepEqual(
      blocks.map((block) => [...reader.read(block)]),
      [
        [['streamtype', 'error']],
        [
          ['streamtype', 'stdin'],
          ['port', '80'],
        ],
        [],
      ],
    );
  });

  it('are read without the dictionary, too', () => {
    const [writer, reader] = [new HeaderBlocks(), new HeaderBlockReader()];
    for (const streamType of ['error', 'stdout'])
      assert.deepEqual([...reader.read(writer.encode({ streamType }))], [['streamtype', streamType]]);
  });

  it('that are no zlib, cut off, too long or grow beyond reason when unpacked are refused', async () => {
    const refused = async (block: Buffer): Promise<void> =>
      assert.throws(() => new HeaderBlockReader().read(block), /headers/);
    await refused(Buffer.from('no zlib at all'));
    await refused(Buffer.alloc(20_000));
    for (const cut of [
      plain({ streamType: 'error' }).subarray(0, 9),
      Buffer.from([0, 0, 0, 1]),
      Buffer.from([0xff, 0xff, 0xff, 0xff]),
      plain({ bomb: 'x'.repeat(1_000_000) }),
    ])
      await refused((await packed(cut))[0] ?? Buffer.alloc(0));
  });
});
