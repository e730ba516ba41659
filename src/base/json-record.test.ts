import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseRecord } from './json-record.ts';

test('only the text of an object is a record', () => {
  assert.deepEqual(parseRecord('{"a":[1]}'), { a: [1] });
  for (const text of ['[]', 'null', '"a"', '1', '{"a":', '']) assert.equal(parseRecord(text), undefined, text);
});
