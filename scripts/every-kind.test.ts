// The end-to-end tests try a manifest of every kind. A new kind without one is found here, without a cluster.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { allResources } from '../src/control-plane/resources/all.ts';
import { everyKind } from '../test/e2e/support/every-kind.ts';

test('every kind that clients create, list and delete has a manifest in test/e2e/support/every-kind.ts', () => {
  const served = allResources
    .filter(({ review, verbs = ['create', 'list', 'delete'] }) => {
      const needed = ['create', 'list', 'delete'] as const;
      return review === undefined && needed.every((verb) => verbs.includes(verb));
    })
    .map(({ type }) => type.kind);
  const tried = everyKind('', 'default').map(({ manifest }) => String(manifest['kind']));
  assert.deepEqual([...new Set(tried)].sort(), [...new Set(served)].sort());
});
