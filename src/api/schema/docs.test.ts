import assert from 'node:assert/strict';
import { test } from 'node:test';
import { describe } from './docs.ts';
import { field, filled, object, string } from './schema.ts';

const PoolSchema = object('Pool', { kind: string, spec: filled(1, string), size: field(2, string) });

test('a type is described by all of its fields; those that mean the same everywhere may be left out', () => {
  const docs = describe(PoolSchema, 'A pool.', { size: 'How big it is.' });
  assert.deepEqual(docs, { schema: PoolSchema, text: 'A pool.', fields: { size: 'How big it is.' } });
  assert.equal(describe(PoolSchema, 'A pool.', { size: 'Its size.', spec: 'Its spec.' }).fields['spec'], 'Its spec.');
});

test('a missing or stray field does not compile', () => {
  // @ts-expect-error: size is missing
  assert.ok(describe(PoolSchema, 'A pool.', {}));
  // @ts-expect-error: Pool has no depth
  assert.ok(describe(PoolSchema, 'A pool.', { size: 'Its size.', depth: 'Its depth.' }));
});
