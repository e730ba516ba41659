import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonSchema } from '../../api/structural/json-schema.ts';
import { compileSchema } from '../../api/structural/schema-node.ts';
import { Correlation, correlateItems, isUnchanged, noRatchet, ratchetField, ratchetItem } from './correlation.ts';
import type { Ratchet } from './correlation.ts';

const at = (value: unknown, old: unknown): Ratchet => ({ own: new Correlation(value, old), around: undefined });

describe('a value with its old value', () => {
  it('is the same where the JSON is, in whatever order its fields are', () => {
    assert.equal(new Correlation({ a: 1, b: [2] }, { b: [2], a: 1 }).isSame, true);
    assert.equal(new Correlation([1, 2], [2, 1]).isSame, false);
    assert.equal(new Correlation('a', 'a').isSame, true);
    assert.equal(new Correlation('1', 1).isSame, false);
  });

  it('has fields where both are objects and the old one has the field', () => {
    const value = { a: 1, b: 2 };
    assert.equal(new Correlation(value, { a: 1 }).field('a')?.isSame, true);
    assert.equal(new Correlation(value, { a: 2 }).field('a')?.isSame, false);
    assert.equal(new Correlation(value, { a: 1 }).field('b'), undefined);
    assert.equal(new Correlation(value, { a: 1 }).field('toString'), undefined);
    assert.equal(new Correlation(value, 'a').field('length'), undefined);
    assert.equal(new Correlation([1], { 0: 1 }).field('0'), undefined);
    assert.equal(new Correlation({ 0: 1 }, [1]).field('0'), undefined);
  });
});

describe('a part that an update leaves as it was', () => {
  it('an unchanged part is unchanged with its own old value', () => {
    const whole = at({ a: 1, b: 2 }, { a: 1, b: 3 });
    assert.equal(isUnchanged(whole), false);
    assert.equal(isUnchanged(ratchetField(whole, 'a', false)), true);
    assert.equal(isUnchanged(ratchetField(whole, 'b', false)), false);
  });

  it('an unchanged part is judged by the nearest part around it where it has no old value of its own', () => {
    const same = ratchetField(at({ list: [1] }, { list: [1] }), 'list', false);
    const item = ratchetItem(same, 1, undefined);
    assert.equal(item.own, undefined);
    assert.equal(isUnchanged(item), true);
    assert.equal(isUnchanged(ratchetField(item, 'a', false)), true);
    assert.equal(isUnchanged(ratchetItem(item, 2, { value: 2 })), true);
    const changed = ratchetField(at({ list: [1] }, { list: [2] }), 'list', false);
    assert.equal(isUnchanged(ratchetItem(ratchetItem(changed, 1, undefined), 1, { value: 1 })), false);
    assert.equal(isUnchanged(ratchetItem(changed, 1, { value: 1 })), true);
  });

  it('an unchanged part is never the version or the kind of the whole object', () => {
    const whole = at({ apiVersion: 'v1', kind: 'K', spec: 1 }, { apiVersion: 'v1', kind: 'K', spec: 1 });
    const unchanged = (name: string, isRoot: boolean): boolean => isUnchanged(ratchetField(whole, name, isRoot));
    assert.deepEqual(
      ['apiVersion', 'kind', 'spec'].map((name) => unchanged(name, true)),
      [false, false, true],
    );
    assert.equal(unchanged('kind', false), true);
  });

  it('an unchanged part is nothing where no update is compared', () => {
    assert.equal(isUnchanged(noRatchet), false);
    assert.equal(isUnchanged(ratchetField(noRatchet, 'a', false)), false);
  });
});

describe('the items of a list', () => {
  const items: JsonSchema = {
    type: 'object',
    properties: { name: { type: 'string' }, port: { type: 'integer', default: 80 } },
  };
  const list = compileSchema({
    type: 'array',
    items,
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['name', 'port'],
  });

  it('are found again by their keys, where a key that is missing is its default', () => {
    const [a, b] = [
      { name: 'a', port: 80, x: 1 },
      { name: 'b', x: 2 },
    ];
    const find = correlateItems(list, [a, b]);
    assert.equal(find({ name: 'a' })?.value, a);
    assert.equal(find({ name: 'b', port: 80 })?.value, b);
    assert.equal(find({ name: 'b', port: 81 }), undefined);
    assert.equal(find('odd'), undefined);
    assert.equal(correlateItems(list, ['odd'])('other')?.value, 'odd');
  });

  it('are not found in lists of another type, nor where there was no list', () => {
    assert.equal(correlateItems(compileSchema({ type: 'array', items }), [{ name: 'a' }])({ name: 'a' }), undefined);
    assert.equal(correlateItems(list, { name: 'a' })({ name: 'a' }), undefined);
  });
});
