import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { LineSplitter } from './line-splitter.ts';

describe('lines of text in pieces', () => {
  it('are the same wherever the pieces end', () => {
    const piece = fc.stringMatching(/^[ab\n]{0,4}$/);
    fc.assert(
      fc.property(fc.array(piece), (pieces) => {
        const splitter = new LineSplitter();
        const lines = pieces.flatMap((each) => splitter.push(each));
        const whole = pieces.join('').split('\n');
        assert.equal(splitter.heldLength, whole.pop()?.length);
        assert.deepEqual(lines, whole);
      }),
    );
  });

  it('are joined once, even for many pieces', () => {
    const splitter = new LineSplitter();
    for (let count = 0; count < 300_000; count++) assert.equal(splitter.push('x'.repeat(50)).length, 0);
    assert.equal(splitter.push('\n')[0]?.length, 15_000_000);
    assert.equal(splitter.heldLength, 0);
  });
});
