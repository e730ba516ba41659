import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { seededRandom } from '../base/random.ts';
import { compileRequirements, matchesRequirement } from './label-requirement.ts';
import type { Labels, Requirement, SelectorOperator } from './label-requirement.ts';
import { compileFields, matchesFields, matchesLabels, matchesLabelSelector } from './selectors.ts';
import type { FieldRequirement } from './selectors.ts';

const random = seededRandom(7);
const below = (count: number): number => Math.floor(random.next() * count);
const times = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));
const operators: readonly SelectorOperator[] = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'];
const keys = ['a', 'b', 'c', 'constructor', '__proto__', ...times(10, (index) => `k${index}`)];
const values = ['', '1', '5', '7', '-3', 'x', 'y'];

const anyRequirement = (): Requirement => ({
  key: keys[below(keys.length)] ?? 'a',
  operator: operators[below(6)] ?? 'In',
  values: times(below(4) === 0 ? below(12) : 1, () => values[below(values.length)] ?? ''),
});
const anyLabels = (): Labels =>
  Object.fromEntries(times(below(6), () => [keys[below(keys.length)] ?? 'a', values[below(values.length)] ?? '']));

/** An array that counts its iterations. */
function counting(list: string[]): { readonly list: string[]; readonly count: () => number } {
  let reads = 0;
  const watched = new Proxy(list, {
    get: (target, name, receiver) => {
      reads++;
      return Reflect.get(target, name, receiver) as unknown;
    },
  });
  return { list: watched, count: () => reads };
}

describe('requirements that are made ready', () => {
  it('give the same result as each of them alone', () => {
    let [held, failed] = [0, 0];
    for (let round = 0; round < 20_000; round++) {
      const requirements = times(below(14), anyRequirement);
      const labels = anyLabels();
      const expected = requirements.every((each) => matchesRequirement(each, labels));
      assert.equal(compileRequirements(requirements).matches(labels), expected, JSON.stringify([requirements, labels]));
      if (expected) held++;
      else failed++;
    }
    assert.ok(held > 500 && failed > 500);
  });

  it('say the same of fields', () => {
    for (let round = 0; round < 5000; round++) {
      const requirements: FieldRequirement[] = times(below(4), () => ({
        field: ['a', 'b', 'constructor'][below(3)] ?? '',
        equal: below(2) === 0,
        value: ['', 'x', 'y'][below(3)] ?? '',
      }));
      const fields = Object.fromEntries(
        times(below(3), () => [['a', 'b'][below(2)] ?? '', ['', 'x', 'y'][below(3)] ?? '']),
      );
      assert.equal(
        compileFields(requirements)(fields),
        matchesFields(requirements, fields),
        JSON.stringify([requirements, fields]),
      );
    }
  });

  it('go through values once, however many objects are asked', () => {
    const many = times(5000, (index) => `v${index}`);
    for (const operator of ['In', 'NotIn'] as const) {
      const alone = counting(many);
      const among = counting(many);
      const asked = counting(many);
      const selector = { matchExpressions: [{ key: 'a', operator, values: asked.list }] };
      const single = compileRequirements([{ key: 'a', operator, values: alone.list }]);
      const joined = compileRequirements([
        ...times(20, (index): Requirement => ({ key: `k${index}`, operator: 'DoesNotExist', values: [] })),
        { key: 'a', operator, values: among.list },
      ]);
      for (let index = 0; index < 1000; index++) {
        const labels = { a: `v${index}` };
        assert.equal(single.matches(labels), operator === 'In');
        assert.equal(joined.matches(labels), operator === 'In');
        assert.equal(matchesLabelSelector(selector, labels), operator === 'In');
      }
      for (const each of [alone, among, asked]) assert.ok(each.count() < 20_000, `${each.count()} reads`);
    }
  });

  it('cost what the labels of an object cost, however many keys there are', () => {
    let lookups = 0;
    const labels: Labels = new Proxy(
      { a: 'x' },
      {
        get: (target, name, receiver) => {
          lookups++;
          return Reflect.get(target, name, receiver) as unknown;
        },
        getOwnPropertyDescriptor: (target, name) => {
          lookups++;
          return Reflect.getOwnPropertyDescriptor(target, name);
        },
      },
    );
    const absent = times(
      5000,
      (index): Requirement => ({
        key: `k${index}`,
        operator: index % 2 === 0 ? 'DoesNotExist' : 'NotIn',
        values: ['x'],
      }),
    );
    assert.equal(compileRequirements(absent).matches(labels), true);
    assert.equal(compileRequirements([...absent, { key: 'b', operator: 'Exists', values: [] }]).matches(labels), false);
    const wanted = Object.fromEntries(times(5000, (index) => [`k${index}`, 'x']));
    assert.equal(matchesLabels(wanted, labels), false);
    assert.ok(lookups < 20, `${lookups} look-ups`);
  });
});
