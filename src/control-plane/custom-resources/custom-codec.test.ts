import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../api/client/resource-type.ts';
import { compileSchema } from '../../api/structural/schema-node.ts';
import { renamed, renamedTo } from './convert-object.ts';
import { normalise, readCustomBody } from './custom-codec.ts';

const root = compileSchema({
  type: 'object',
  properties: {
    spec: { type: 'object', properties: { size: { type: 'integer', default: 1 }, color: { type: 'string' } } },
  },
});
const ring = (more: object): object => ({ apiVersion: 'shop.io/v1', kind: 'Ring', metadata: { name: 'r' }, ...more });

describe('the body of a request for a custom kind', () => {
  it('is kept as far as the schema knows it, and the rest is named in order', () => {
    const { value, errors, warnings } = readCustomBody(ring({ z: 1, spec: { size: 2, odd: { x: 1 } } }), root);
    assert.deepEqual((value as { spec?: unknown }).spec, { size: 2 });
    assert.equal('z' in (value as object), false);
    assert.deepEqual(errors, []);
    assert.deepEqual(
      warnings.map(({ problem, path, message }) => [problem, path.join('.'), message]),
      [
        ['unknownField', 'spec.odd', 'unknown field "spec.odd"'],
        ['unknownField', 'z', 'unknown field "z"'],
      ],
    );
  });

  it('has metadata as every object has them', () => {
    const { errors } = readCustomBody(ring({ metadata: { labels: 'x' } }), root);
    assert.deepEqual(
      errors.map(({ path }) => path.join('.')),
      ['metadata.labels'],
    );
    const { warnings } = readCustomBody(ring({ metadata: { name: 'r', odd: 1 } }), root);
    assert.deepEqual(
      warnings.map(({ path }) => path.join('.')),
      ['metadata.odd'],
    );
    assert.deepEqual(readCustomBody({ apiVersion: 'shop.io/v1' }, root).errors, []);
  });

  it('is empty where it is no object', () => {
    for (const value of ['x', null, []])
      assert.deepEqual(readCustomBody(value, root), { value: {}, errors: [], warnings: [] });
  });
});

describe('a stored custom object', () => {
  it('is shown with what its schema fills in and without what it does not know', () => {
    assert.deepEqual(
      normalise(ring({ spec: { odd: 1, color: 'red' } }) as ApiObject, root),
      ring({ spec: { color: 'red', size: 1 } }),
    );
  });

  it('has no empty lists in its metadata, and keeps those of its own fields', () => {
    const metadata = { name: 'r', finalizers: [], ownerReferences: [], labels: {} };
    const { value } = readCustomBody(ring({ metadata, spec: { size: 0 } }), root);
    const { metadata: read, spec } = value as { readonly metadata: object; readonly spec: object };
    assert.deepEqual([Object.keys(read).sort(), spec], [['name', 'namespace', 'uid'], { size: 0 }]);
  });

  it('is shown in the version of the request, converted once for all readers', () => {
    let times = 0;
    const { fromStored: show } = renamed((object) => {
      times++;
      return object.apiVersion === 'shop.io/v2' ? object : { ...object, apiVersion: 'shop.io/v2' };
    });
    const stored = ring({}) as ApiObject;
    const shown = show(stored);
    assert.deepEqual(shown, ring({ apiVersion: 'shop.io/v2' }));
    assert.equal(show(stored), shown);
    assert.equal(times, 1);
    assert.equal(stored.apiVersion, 'shop.io/v1');
  });

  it('is stored in the storage version, and as it is where it has that', () => {
    const store = renamedTo('shop.io/v1', (object) => object);
    const same = ring({}) as ApiObject;
    assert.equal(store(same), same);
    assert.deepEqual(store(ring({ apiVersion: 'shop.io/v2' }) as ApiObject), same);
  });
});
