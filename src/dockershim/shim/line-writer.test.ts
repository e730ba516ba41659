import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { describe, it } from 'node:test';
import { LineWriter } from './line-writer.ts';

const lines = (...texts: readonly string[]): Buffer[] => texts.map((text) => Buffer.from(text));

describe('LineWriter', () => {
  it('writes all lines together that arrived during the previous write', async () => {
    const writes: string[] = [];
    const gate = Promise.withResolvers<void>();
    const writer = new LineWriter(async (batch) => {
      writes.push(Buffer.concat(batch).toString());
      await gate.promise;
    });
    for (const text of 'abcd') await writer.push(lines(text));
    gate.resolve();
    await writer.end();
    assert.deepEqual(writes, ['a', 'bcd']);
    await writer.push(lines('e'));
    await writer.end();
    assert.deepEqual(writes, ['a', 'bcd', 'e']);
  });

  it('stops its producer when a megabyte is waiting', async () => {
    const gate = Promise.withResolvers<void>();
    const writer = new LineWriter(() => gate.promise);
    await writer.push(lines('a'));
    let isThrough = false;
    const push = writer.push([Buffer.alloc(2 * 1024 * 1024)]).then(() => (isThrough = true));
    await Promise.resolve();
    assert.equal(isThrough, false);
    gate.resolve();
    await push;
  });

  it('reports a failed write at the end', async () => {
    const writer = new LineWriter(() => Promise.reject(new Error('ENOSPC')));
    await writer.push(lines('a'));
    await assert.rejects(writer.end(), { message: 'ENOSPC' });
  });
});
