import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { warningHeaders } from './warning-headers.ts';

describe('warning headers', () => {
  it('escape characters that would end the text, keep other scripts, and have no line breaks', () => {
    const [quoted = '', other = ''] = warningHeaders(['a "b" \\ c\r\nset-cookie: x', 'größe']);
    assert.deepEqual(
      [quoted, Buffer.from(other, 'latin1').toString('utf8')],
      ['299 - "a \\"b\\" \\\\ c  set-cookie: x"', '299 - "größe"'],
    );
  });

  it('are truncated if there are too many, and omitted if they still do not fit', () => {
    const headers = warningHeaders(Array.from({ length: 40 }, (_, index) => `${index} ${'x'.repeat(500)}`));
    assert.ok(headers.every((header) => header.length <= 256 + '299 - ""'.length));
    assert.deepEqual([headers.length, warningHeaders(['y'.repeat(1000)])[0]?.length], [16, 1008]);
  });
});
