import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CustomResourceDefinition } from '../../api/apiextensions/custom-resource-definition.ts';
import { customResourceDefinitions } from '../../api/client/resource-types.ts';
import type { DefinitionsChange, DefinitionsTarget } from '../model/definitions.ts';
import { FakeObjectReader } from '../model/testing/fake-object-reader.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { followCustomKinds } from './custom-kinds.ts';

type Status = NonNullable<CustomResourceDefinition['status']>;

const conditions = (...types: readonly ('Established' | 'Terminating')[]): Status['conditions'] =>
  types.map((type) => ({ type, status: 'True', reason: '', message: '', lastTransitionTime: '' }));

function definition(types: readonly ('Established' | 'Terminating')[] = ['Established']): CustomResourceDefinition {
  const names = { plural: 'rings', singular: 'ring', kind: 'Ring', listKind: 'RingList' };
  const version = (name: string): CustomResourceDefinition['spec']['versions'][number] => ({
    ...{ name, served: true, storage: name === 'v1', schema: { openAPIV3Schema: { type: 'object' } } },
  });
  return {
    metadata: { name: 'rings.shop.io', namespace: '', uid: 'u', generation: 1 },
    spec: { group: 'shop.io', scope: 'Namespaced', names, versions: [version('v1'), version('v2')] },
    status: { conditions: conditions(...types), acceptedNames: names, storedVersions: ['v1'] },
  };
}

const shown = ({ type }: ResourceDefinition): string => (type.version === '' ? 'place' : type.version);

function fixture(builtIn: readonly { readonly group: string; readonly version: string }[] = []) {
  const reader = new FakeObjectReader();
  const changes: { removed: string[]; added: string[]; keepsWatches: boolean }[] = [];
  const objects: DefinitionsChange[] = [];
  const definitions: DefinitionsTarget = {
    all: builtIn.map((type) => ({ type }) as ResourceDefinition),
    onChange: () => () => undefined,
    change: (change) => {
      objects.push(change);
      const { removed, added, keepsWatches = false } = change;
      changes.push({ removed: removed.map(shown), added: added.map(shown), keepsWatches });
    },
  };
  followCustomKinds({
    reader,
    definitions,
    formatAge: () => '',
    conversion: { post: () => Promise.reject(new Error('not in this test')), newUid: () => '' },
  });
  const put = (given: CustomResourceDefinition): void => reader.put(customResourceDefinitions, given);
  /** Returns the changes since the last call. */
  const news = () => changes.splice(0);
  return {
    put,
    news,
    objects,
    remove: () => reader.remove(customResourceDefinitions, { namespace: '', name: 'rings.shop.io' }),
  };
}

/** The location of a kind, as it is announced. */
const place = shown({ type: { version: fixturePlaceVersion() } } as ResourceDefinition);
function fixturePlaceVersion(): string {
  const { put, objects } = fixture();
  put(definition([]));
  return objects[0]?.added[0]?.type.version ?? '';
}

describe('custom kinds', () => {
  it('have their place from the first event on, and versions once they are established', () => {
    const { put, news } = fixture();
    put(definition([]));
    assert.deepEqual(news(), [{ removed: [], added: [place], keepsWatches: false }]);
    put(definition());
    assert.deepEqual(news(), [{ removed: [], added: ['v1', 'v2'], keepsWatches: false }]);
  });

  it('go with their definition, the place last', () => {
    const { put, news, remove, objects } = fixture();
    put(definition());
    news();
    remove();
    assert.deepEqual(news(), [{ removed: ['v1', 'v2', place], added: [], keepsWatches: false }]);
    assert.deepEqual(objects[1]?.removed.at(-1), objects[0]?.added[0]);
    remove();
    assert.deepEqual(news(), []);
  });

  it('are new ones for a definition that was replaced under its name', () => {
    const { put, news } = fixture();
    put(definition());
    news();
    const { metadata, ...rest } = definition();
    put({ ...rest, metadata: { ...metadata, uid: 'another' } });
    assert.deepEqual(news(), [
      { removed: ['v1', 'v2', place], added: [], keepsWatches: false },
      { removed: [], added: [place, 'v1', 'v2'], keepsWatches: false },
    ]);
  });

  it('stay as they are when nothing changes that is served', () => {
    const { put, news } = fixture();
    put(definition());
    news();
    const { metadata, ...rest } = definition();
    put({ ...rest, metadata: { ...metadata, labels: { a: 'b' } } });
    put({ ...rest, metadata: { ...metadata, generation: 2 } });
    put({ ...rest, metadata: { ...metadata, generation: 2 }, spec: { ...rest.spec, versions: [] } });
    assert.deepEqual(news(), []);
  });

  it('are made again when the definition says something else, at the same place', () => {
    const { put, news, objects } = fixture();
    put(definition());
    news();
    const { metadata, spec, ...rest } = definition();
    put({ ...rest, metadata: { ...metadata, generation: 2 }, spec: { ...spec, versions: spec.versions.slice(0, 1) } });
    assert.deepEqual(news(), [{ removed: ['v1', 'v2'], added: ['v1'], keepsWatches: false }]);
    assert.deepEqual(objects[1]?.removed, objects[0]?.added.slice(1));
    const { status, ...again } = definition();
    assert.ok(status !== undefined);
    const acceptedNames = { ...status.acceptedNames, shortNames: ['r'] };
    const generation = 2;
    put({
      ...again,
      metadata: { ...again.metadata, generation },
      spec: { ...spec, versions: spec.versions.slice(0, 1) },
      status: { ...status, acceptedNames },
    });
    assert.deepEqual(news(), [{ removed: ['v1'], added: ['v1'], keepsWatches: false }]);
  });

  it('keep their watches when the definition only begins to end', () => {
    const { put, news } = fixture();
    put(definition());
    news();
    const deleted = { deletionTimestamp: '2026-01-01T00:00:00Z', generation: 2 };
    const { metadata, ...rest } = definition();
    put({ ...rest, metadata: { ...metadata, ...deleted } });
    assert.deepEqual(news(), []);
    put({ ...rest, ...definition(['Established', 'Terminating']), metadata: { ...metadata, ...deleted } });
    assert.deepEqual(news(), [{ removed: ['v1', 'v2'], added: ['v1', 'v2'], keepsWatches: true }]);
  });

  it('never replace a built-in one', () => {
    const { put, news } = fixture([{ group: 'shop.io', version: 'v2' }]);
    put(definition());
    assert.deepEqual(news(), [{ removed: [], added: [place, 'v1'], keepsWatches: false }]);
  });
});
