import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { finalizerWarnings } from './finalizer-warnings.ts';

const held = (...finalizers: string[]): ApiObject => ({
  metadata: { name: 'a', namespace: 'b', uid: 'c', finalizers },
});

it('warns of new finalizers without an owner, and of no others', () => {
  const object = held('shop.io/cleanup', 'orphan', 'longhorn.io', 'cleanup', 'cleanup', 'old');
  const why = 'to avoid accidental conflicts with other finalizer writers';
  assert.deepEqual(finalizerWarnings(object, held('old')), [
    `metadata.finalizers: "cleanup": prefer a domain-qualified finalizer name ${why}`,
    `metadata.finalizers: "longhorn.io": prefer a domain-qualified finalizer name including a path (/) ${why}`,
  ]);
  assert.deepEqual(finalizerWarnings(held('old'), undefined).length, 1);
  assert.deepEqual(finalizerWarnings(held(), undefined), []);
});
