import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
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

/** v1 is stored. Each version has a field with its own default, and `both` with different defaults. */
function twoVersions(more: object = {}): CustomResourceDefinition {
  const version = (name: string, own: string): object => {
    const text = { type: 'string', default: `of ${name}` };
    const spec = { type: 'object', properties: { both: text, [own]: text } };
    const openAPIV3Schema = { type: 'object', properties: { spec } };
    const selectableFields = [{ jsonPath: '.spec.both' }];
    return { name, served: true, storage: name === 'v1', schema: { openAPIV3Schema }, selectableFields };
  };
  const { metadata, spec } = definition([]);
  const versions = [version('v1', 'one'), version('v2', 'two')];
  return { metadata, spec: { ...spec, versions }, ...more } as unknown as CustomResourceDefinition;
}

const shownVersions = (crd: CustomResourceDefinition): readonly ResourceDefinition[] =>
  customVersions(crd, customPlace(crd), parts);

const ring = (apiVersion: string, spec: object): ApiObject =>
  ({ apiVersion, kind: 'Ring', metadata: { name: 'a', namespace: '', uid: '' }, spec }) as ApiObject;

it('a stored object has the defaults of its stored version only', () => {
  const [first, second] = shownVersions(twoVersions());
  const stored = ring('shop.io/v1', {});
  assert.deepEqual(first?.storedAs?.fromStored(stored), ring('shop.io/v1', { both: 'of v1', one: 'of v1' }));
  assert.deepEqual(second?.storedAs?.fromStored(stored), ring('shop.io/v2', { both: 'of v1' }));
});

it('an object is stored without the fields that the storage version does not have', async () => {
  const [, second] = shownVersions(twoVersions());
  const written = ring('shop.io/v2', { both: 'x', two: 'lost' });
  assert.deepEqual(await second?.storedAs?.toStored(written), ring('shop.io/v1', { both: 'x' }));
});

it('a kind that is being deleted announces no writes, and says why it takes no new objects', () => {
  const [kind] = shownVersions(twoVersions({ status: { conditions: [{ type: 'Terminating', status: 'True' }] } }));
  assert.deepEqual(kind?.announcedVerbs, ['delete', 'deletecollection', 'get', 'list', 'watch']);
  assert.match(kind?.refusesCreation ?? '', /definition is terminating/);
  const [usual] = shownVersions(twoVersions());
  assert.equal(usual?.refusesCreation, undefined);
  assert.equal(usual?.announcedVerbs?.join(), 'delete,deletecollection,get,list,patch,create,update,watch');
});

it('OpenAPI lists the fields that clients can select by', () => {
  const [kind] = shownVersions(twoVersions());
  assert.deepEqual((kind?.openApi?.(3) as Record<string, unknown>)['x-kubernetes-selectable-fields'], [
    { fieldPath: 'spec.both' },
  ]);
});
