import assert from 'node:assert/strict';
import test from 'node:test';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { widgets } from '../testing/registry-fixture.ts';
import { storedJson, wireJson } from './stored-form.ts';

test('the data of a revision is stored and answered in the bytes that Go’s encoder writes', () => {
  const data = { spec: { template: { $patch: 'replace', spec: { containers: [{ command: ['a && b > c'] }] } } } };
  const revision = { metadata: { name: 'a', namespace: 'b', uid: 'c' }, data, revision: 1 };
  const bytes =
    '"data":{"spec":{"template":{"$patch":"replace","spec":{"containers":[{"command":["a \\u0026\\u0026 b \\u003e c"]}]}}}}';
  // Only the names of its type matter here.
  const definition = widgets as unknown as ResourceDefinition;
  for (const write of [storedJson, wireJson]) assert.ok(write(definition, revision).includes(bytes));
});
