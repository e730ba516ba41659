import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CustomResourceDefinition } from './custom-resource-definition.ts';
import { isPacked, packSchemas } from './packed-schemas.ts';

const names = { plural: 'rings', singular: 'ring', kind: 'Ring', listKind: 'RingList' };
const openAPIV3Schema = { type: 'object', properties: { spec: { type: 'string', description: 'ring <1>' } } };
const definition: CustomResourceDefinition = {
  metadata: { name: 'rings.shop.io', namespace: '', uid: 'u' },
  spec: {
    group: 'shop.io',
    scope: 'Namespaced',
    names,
    versions: [
      { name: 'v1', served: true, storage: true, schema: { openAPIV3Schema } },
      { name: 'v0', served: false, storage: false },
    ],
  },
};

it('a definition with packed schemas is equal to the original, and has the same JSON', () => {
  const packed = packSchemas(definition);
  assert.deepEqual(packed, definition);
  assert.equal(JSON.stringify(packed), JSON.stringify(definition));
  assert.deepEqual({ ...packed.spec.versions[0]?.schema }, { openAPIV3Schema });
});

it('packed schemas are not packed again, and stay the same objects in later versions', () => {
  const packed = packSchemas(definition);
  const later = packSchemas({ ...packed, metadata: { ...packed.metadata, generation: 2 } });
  assert.equal(later.spec, packed.spec);
  assert.ok(isPacked(later.spec.versions[0]?.schema ?? {}));
});

it('a stored object that is no definition is kept', () => {
  const odd = { metadata: definition.metadata } as CustomResourceDefinition;
  assert.equal(packSchemas(odd), odd);
});
