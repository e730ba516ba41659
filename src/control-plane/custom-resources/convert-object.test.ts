import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ApiObject } from '../../api/client/resource-type.ts';
import type { ShownObjects } from './convert-object.ts';
import { converted } from './convert-object.ts';

const object = (name: string, apiVersion = 'g/v1'): ApiObject => ({
  apiVersion,
  metadata: { name, namespace: '', uid: '' },
});

function shownObjects(): { readonly shown: ShownObjects; readonly asked: string[][]; readonly fail: () => void } {
  const asked: string[][] = [];
  let fails = false;
  const shown = converted(
    'g/v2',
    { own: (each) => each, before: (each) => each, after: (each) => each },
    (objects, apiVersion) => {
      asked.push(objects.map(({ metadata }) => metadata.name));
      if (fails) return Promise.reject(new Error('no'));
      return Promise.resolve(objects.map((each) => ({ ...each, apiVersion })));
    },
  );
  return { shown, asked, fail: () => (fails = true) };
}

describe('objects that a webhook converts', () => {
  it('are asked for once, also by several at the same time', async () => {
    const { shown, asked } = shownObjects();
    const [a, b] = [object('a'), object('b')];
    await Promise.all([shown.prepare?.([a]), shown.prepare?.([a, b])]);
    assert.deepEqual(asked, [['a'], ['b']]);
    assert.equal(shown.prepare?.([a, b]), undefined);
    assert.equal(shown.fromStored(a).apiVersion, 'g/v2');
    assert.equal(shown.fromStored(a), shown.fromStored(a));
  });

  it('need no call when they are stored in the version asked for', () => {
    const { shown, asked } = shownObjects();
    const same = object('a', 'g/v2');
    assert.equal(shown.prepare?.([same]), undefined);
    assert.deepEqual([shown.fromStored(same), asked], [same, []]);
  });

  it('are asked for again after a failure', async () => {
    const { shown, asked, fail } = shownObjects();
    fail();
    const a = object('a');
    await assert.rejects(Promise.resolve(shown.prepare?.([a])), /no/);
    await assert.rejects(Promise.resolve(shown.prepare?.([a])), /no/);
    assert.equal(asked.length, 2);
    assert.throws(() => shown.fromStored(a), /was not converted/);
  });
});
