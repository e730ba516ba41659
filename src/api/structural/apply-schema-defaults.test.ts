import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { applySchemaDefaults, DefaultsBudget } from './apply-schema-defaults.ts';
import type { JsonSchema } from './json-schema.ts';
import { compileSchema } from './schema-node.ts';

const of = (properties: Readonly<Record<string, JsonSchema>>): JsonSchema => ({ type: 'object', properties });
const filled = (value: unknown, schema: JsonSchema): unknown => applySchemaDefaults(value, compileSchema(schema));

describe('the defaults of a schema', () => {
  it('set missing fields, and keep existing ones', () => {
    const schema = of({ a: { default: 1 }, b: { default: 2 }, c: {} });
    assert.deepEqual(filled({ a: 7 }, schema), { a: 7, b: 2 });
    assert.deepEqual(filled({ a: 0, b: '' }, schema), { a: 0, b: '' });
  });

  it('reach into objects, lists and maps that exist, and make none', () => {
    const inner = of({ a: { default: 1 } });
    const schema = of({
      object: inner,
      list: { type: 'array', items: inner },
      map: { type: 'object', additionalProperties: inner },
      free: { type: 'object', additionalProperties: true },
      bare: { type: 'array' },
    });
    assert.deepEqual(filled({}, schema), {});
    assert.deepEqual(
      filled({ object: {}, list: [{}, { a: 2 }], map: { k: {} }, free: { k: {} }, bare: [{}] }, schema),
      {
        object: { a: 1 },
        list: [{ a: 1 }, { a: 2 }],
        map: { k: { a: 1 } },
        free: { k: {} },
        bare: [{}],
      },
    );
  });

  it('are filled in themselves', () => {
    assert.deepEqual(filled({}, of({ o: { ...of({ a: { default: 1 } }), default: {} } })), { o: { a: 1 } });
  });

  it('take the place of a null that is not allowed; without a default it is dropped', () => {
    const schema = of({
      a: { type: 'string', default: 'x' },
      b: { type: 'string' },
      n: { type: 'string', nullable: true, default: 'x' },
      list: { type: 'array', items: { type: 'string', default: 'y' } },
      nulls: { type: 'array', items: { type: 'string', nullable: true, default: 'y' } },
      plain: { type: 'array', items: { type: 'string' } },
    });
    assert.deepEqual(
      filled({ a: null, b: null, n: null, list: [null, 'z'], nulls: [null], plain: [null], other: null }, schema),
      { a: 'x', n: null, list: ['y', 'z'], nulls: [null], plain: [null], other: null },
    );
  });

  it('give back the very value where nothing was missing, and change none that is given', () => {
    const schema = of({ a: { default: 1 }, list: { type: 'array', items: of({ a: { default: 1 } }) } });
    const whole = { a: 2, list: [{ a: 1 }], other: { x: 1 } };
    assert.equal(filled(whole, schema), whole);
    const part = { list: [{}] };
    const made = filled(part, schema);
    assert.deepEqual([part, made], [{ list: [{}] }, { a: 1, list: [{ a: 1 }] }]);
    assert.equal(filled('text', schema), 'text');
    assert.equal(filled(null, schema), null);
  });

  it('are set as own fields, whatever their name', () => {
    const schema: JsonSchema = of(JSON.parse('{"__proto__":{"default":1}}') as Record<string, JsonSchema>);
    assert.equal(Object.hasOwn(filled({}, schema) as object, '__proto__'), true);
  });
});

it('stops when the defaults are larger than an object may be', () => {
  const big = 'x'.repeat(10_000);
  const node = compileSchema({ type: 'array', items: { type: 'object', properties: { a: { default: big } } } });
  const budget = new DefaultsBudget();
  const filled = applySchemaDefaults(
    Array.from({ length: 40_000 }, () => ({})),
    node,
    budget,
  );
  assert.equal(budget.isSpent, true);
  assert.equal(filled.filter((each) => 'a' in each).length, 315);
});

it('stops when defaults multiply', () => {
  let schema: JsonSchema = { type: 'string', default: 'x' };
  for (let level = 0; level < 12; level++)
    schema = {
      type: 'array',
      default: Array.from({ length: 10 }, () => ({})),
      items: { type: 'object', properties: { a: schema } },
    };
  const budget = new DefaultsBudget();
  applySchemaDefaults({}, compileSchema({ type: 'object', properties: { a: schema } }), budget);
  assert.equal(budget.isSpent, true);
});
