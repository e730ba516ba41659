import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { readPemBlocks } from './pem-blocks.ts';

const block = (type: string, text: string, headers = ''): string =>
  `-----BEGIN ${type}-----\n${headers}${Buffer.from(text).toString('base64')}\n-----END ${type}-----\n`;
const read = (text: string): readonly string[] =>
  readPemBlocks(text).map(({ type, hasHeaders, der }) => `${type}${hasHeaders ? '+' : ''}=${Buffer.from(der)}`);

describe('readPemBlocks', () => {
  it('reads blocks in order and skips other text', () => {
    assert.deepEqual(read(`words\n${block('A', 'one')}\nmore: words\n${block('B', 'two')}tail`), ['A=one', 'B=two']);
  });

  it('reports which blocks have headers', () => {
    assert.deepEqual(read(block('A', 'one', 'Proc-Type: 4\nX: y\n\n')), ['A+=one']);
  });

  it('reads lines that end with a carriage return', () => {
    assert.deepEqual(read(block('A', 'one').replaceAll('\n', '\r\n')), ['A=one']);
  });

  it('skips blocks that are incomplete, have two types or are not base64, and reads the following ones', () => {
    const good = block('B', 'two');
    assert.deepEqual(read(`-----BEGIN A-----\n${good}`), ['B=two']);
    assert.deepEqual(read(`-----BEGIN A-----\nb25l\n-----END C-----\n${good}`), ['B=two']);
    assert.deepEqual(read(`-----BEGIN A-----\nb2*l\n-----END A-----\n${good}`), ['B=two']);
    assert.deepEqual(read(`x${block('A', 'one')}${good}`), ['B=two']);
    assert.deepEqual(read('-----BEGIN A-----\nb25l'), []);
  });

  it('reads a text of many heads before one foot', () => {
    // A search for the footer of each header would take hours.
    assert.deepEqual(read(`${'-----BEGIN A-----\n'.repeat(500_000)}x\n-----END B-----\n`), []);
  });
});
