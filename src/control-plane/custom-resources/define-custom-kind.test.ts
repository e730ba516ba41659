import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import { customPlace, customVersions } from './define-custom-kind.ts';

/** A definition that counts how often the schema of a version is read. */
function definition(reads: string[]): CustomResourceDefinition {
  const version = (name: string): object => ({
    name,
    served: name !== 'v0',
    storage: name === 'v1',
    schema: {
      get openAPIV3Schema() {
        reads.push(name);
        return { type: 'object' };
      },
    },
  });
  return {
    metadata: { name: 'rings.shop.io', namespace: '', uid: '' },
    spec: {
      group: 'shop.io',
      scope: 'Namespaced',
      names: { plural: 'rings', kind: 'Ring' },
      versions: ['v0', 'v1', 'v2'].map(version),
    },
  } as unknown as CustomResourceDefinition;
}

const parts = {
  formatAge: () => '',
  conversion: { post: () => Promise.reject(new Error('not in this test')), newUid: () => '' },
};

it('a custom kind costs nothing of its schema until a version of it is used', () => {
  const reads: string[] = [];
  const crd = definition(reads);
  const versions = customVersions(crd, customPlace(crd), parts);
  assert.deepEqual(
    versions.map(({ type, siblings }) => [type.version, siblings?.().map((each) => each.type.version)]),
    [
      ['v1', ['v2']],
      ['v2', ['v1']],
    ],
  );
  assert.deepEqual(reads, []);
  assert.equal(versions[1]?.schema.name, 'Ring');
  assert.deepEqual(reads, ['v2']);
});
