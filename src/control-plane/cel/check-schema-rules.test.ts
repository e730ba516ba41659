import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonSchema, ValidationRule } from '../../api/structural/json-schema.ts';
import { formatFieldError } from '../../api/validation/field-error.ts';
import { checkSchemaRules } from './check-schema-rules.ts';

const check = async (schema: JsonSchema): Promise<readonly string[]> =>
  (await checkSchemaRules(schema, 'S')).map(formatFieldError);
const ruled = (schema: JsonSchema, ...rules: readonly ValidationRule[]): JsonSchema => ({
  ...schema,
  'x-kubernetes-validations': rules,
});
const spec = (schema: JsonSchema): JsonSchema => ({ type: 'object', properties: { spec: schema } });
const at = 'S.properties[spec].x-kubernetes-validations[0]';
const advice =
  '(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)';

describe('the CEL rules of a schema', () => {
  it('pass when they compile and are cheap', async () => {
    const list: JsonSchema = { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 10 } };
    assert.deepEqual(await check(spec(ruled(list, { rule: "self.all(each, each != 'x')" }))), []);
  });

  it('may read the keys of a map as long as there are few of them', async () => {
    const map: JsonSchema = {
      type: 'object',
      maxProperties: 8,
      additionalProperties: { type: 'string', maxLength: 63 },
    };
    assert.deepEqual(await check(spec(ruled(map, { rule: "self.all(key, key.split('/')[0].size() < 253)" }))), []);
  });

  it('are refused with what the compiler says', async () => {
    const [error = ''] = await check(spec(ruled({ type: 'integer' }, { rule: 'self == "a"' })));
    assert.ok(error.startsWith(`${at}.rule: Invalid value: {"Rule":"self == \\"a\\"",`), error);
    assert.match(error, /compilation failed: ERROR: <input>:1:6: found no matching overload for '_==_'/);
    const message = await check(spec(ruled({ type: 'integer' }, { rule: 'true', messageExpression: 'self' })));
    assert.match(message[0] ?? '', /messageExpression: Invalid value: .*messageExpression must evaluate to a string/);
  });

  it('are refused for an old value that no item of a list can have', async () => {
    const items = ruled({ type: 'string' }, { rule: 'self == oldSelf' });
    assert.deepEqual(await check(spec({ type: 'array', maxItems: 3, items })), [
      'S.properties[spec].items.x-kubernetes-validations[0].rule: Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within S.properties[spec]',
    ]);
    const unused = ruled({ type: 'string' }, { rule: "self != ''", optionalOldSelf: true });
    assert.deepEqual(await check(spec(unused)), [
      `${at}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
    ]);
  });

  it('are refused when one may cost too much for an object, by how often it is evaluated', async () => {
    const items = ruled({ type: 'string' }, { rule: "self.contains('a')" });
    assert.deepEqual(await check(spec({ type: 'array', items })), [
      `S.properties[spec].items.x-kubernetes-validations[0].rule: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${advice}`,
      'S.properties[spec].items.x-kubernetes-validations[0].rule: Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema',
      `S: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${advice}`,
    ]);
    assert.deepEqual(await check(spec({ type: 'array', maxItems: 10, items: { ...items, maxLength: 10 } })), []);
  });

  it('are refused when all of them together cost too much', async () => {
    const part = ruled({ type: 'array', items: { type: 'integer' } }, { rule: 'self.all(each, each > 0)' });
    const names = Array.from({ length: 20 }, (_, index) => `p${index}`);
    const errors = await check({ type: 'object', properties: Object.fromEntries(names.map((name) => [name, part])) });
    assert.equal(errors.filter((each) => each.includes('contributed to estimated rule cost total')).length, 4);
    assert.match(errors.at(-1) ?? '', /^S: Forbidden: .* entire OpenAPIv3 schema exceeds budget by factor of 1\.\d+x/);
  });

  it('must be true of the defaults', async () => {
    const schema = ruled({ type: 'integer', default: 5 }, { rule: 'self < 3' });
    assert.deepEqual(await check(spec(schema)), [
      'S.properties[spec].default: Invalid value: 5: failed rule: self < 3',
    ]);
  });

  it('must be true of the defaults, each as a new value and as one that stays', async () => {
    const faults = async (rule: ValidationRule): Promise<readonly string[]> =>
      await check(spec(ruled({ type: 'integer', default: 5 }, rule)));
    const path = 'S.properties[spec].default';
    assert.deepEqual(await faults({ rule: 'self == oldSelf' }), []);
    assert.deepEqual(await faults({ rule: 'self < oldSelf' }), [
      `${path}: Invalid value: 5: failed rule: self < oldSelf`,
    ]);
    const optional = { rule: 'oldSelf.hasValue()', optionalOldSelf: true };
    assert.deepEqual(await faults(optional), [`${path}: Invalid value: 5: failed rule: oldSelf.hasValue()`]);
    const within: JsonSchema = { type: 'object', default: { a: 1 }, properties: { a: { type: 'integer' } } };
    assert.deepEqual(await check(spec(within)), []);
    const two = {
      a: ruled({ type: 'integer', default: 5 }, { rule: 'self < 3' }),
      b: ruled({ type: 'integer', default: 6 }, { rule: 'self < 3' }),
    };
    assert.equal((await check({ type: 'object', properties: two })).length, 2);
  });

  it('read the names of a resource that is embedded, and of the whole', async () => {
    const rule = { rule: "self.metadata.name != ''" };
    const embedded: JsonSchema = { type: 'object', 'x-kubernetes-embedded-resource': true };
    assert.deepEqual(await check(spec(ruled(embedded, rule))), []);
    assert.deepEqual(await check(ruled({ type: 'object' }, rule)), []);
    assert.match((await check(spec(ruled({ type: 'object' }, rule))))[0] ?? '', /undefined field 'metadata'/);
  });

  it('may compare with an old value below maps and lists that are maps', async () => {
    const item = ruled({ type: 'string', maxLength: 5 }, { rule: 'self == oldSelf' });
    assert.deepEqual(await check(spec({ type: 'object', maxProperties: 3, additionalProperties: item })), []);
    const named: JsonSchema = {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string' }, value: item },
    };
    const list: JsonSchema = {
      type: 'array',
      maxItems: 3,
      items: named,
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
    };
    assert.deepEqual(await check(spec(list)), []);
    const nested = await check(spec({ type: 'array', maxItems: 3, items: list }));
    assert.match(nested[0] ?? '', /uncorrelatable portion of the schema within S.properties\[spec\]$/);
  });

  it('cost as often as there may be values, through maps and lists', async () => {
    const expensive = ruled({ type: 'string', maxLength: 100_000 }, { rule: "self.contains('a')" });
    const factor = async (schema: JsonSchema): Promise<string> =>
      /rule cost exceeds budget by factor of (\S+( than \S+)?)/.exec((await check(spec(schema)))[0] ?? '')?.[1] ??
      'none';
    const map = (maxProperties: number, additionalProperties: JsonSchema): JsonSchema => ({
      type: 'object',
      maxProperties,
      additionalProperties,
    });
    const list = (maxItems: number, items: JsonSchema): JsonSchema => ({ type: 'array', maxItems, items });
    assert.equal(await factor(expensive), 'none');
    assert.equal(await factor(map(10, expensive)), 'none');
    const cost = 40_000;
    for (const make of [map, list]) {
      assert.equal(await factor(make(300, expensive)), `${((300 * (cost + 1)) / 10_000_000).toFixed(6)}x`);
      assert.equal(await factor(make(2_000, expensive)), `${((2_000 * (cost + 1)) / 10_000_000).toFixed(1)}x`);
      assert.equal(await factor(make(30, make(10, expensive))), `${((300 * (cost + 1)) / 10_000_000).toFixed(6)}x`);
      assert.equal(await factor(make(-1, expensive)), 'none');
      assert.equal(await factor(make(0, expensive)), 'none');
    }
    assert.equal(await factor(list(100_000, expensive)), 'more than 100x');
    assert.equal(await factor({ type: 'object', properties: { a: expensive } }), 'none');
  });

  it('have message expressions that count too, once for an object', async () => {
    const list = (maxItems: number): JsonSchema => ({ type: 'array', maxItems, items: { type: 'integer' } });
    const rule = { rule: 'true', messageExpression: "self.all(a, self.all(b, a != b)) ? 'a' : 'b'" };
    assert.deepEqual(await check(spec(ruled(list(1000), rule))), []);
    const [error = ''] = await check(spec(ruled(list(2000), rule)));
    assert.match(
      error,
      /messageExpression: Forbidden: estimated messageExpression cost exceeds budget by factor of 2\.\dx/,
    );
    const tenfold = spec({ type: 'object', maxProperties: 10, additionalProperties: ruled(list(1000), rule) });
    assert.deepEqual(await check(tenfold), []);
  });

  it('are shown as they stand when they are refused', async () => {
    const rule = {
      rule: 'self',
      message: 'm',
      messageExpression: "'e'",
      reason: 'FieldValueInvalid',
      fieldPath: '.a',
      optionalOldSelf: true,
    };
    const shown = (error = ''): unknown => JSON.parse(/Invalid value: (\{.*\}): /.exec(error)?.[1] ?? 'null');
    const fields = {
      Rule: 'self',
      Message: 'm',
      MessageExpression: "'e'",
      Reason: 'FieldValueInvalid',
      FieldPath: '.a',
      OptionalOldSelf: true,
    };
    assert.deepEqual(
      shown((await check(spec(ruled({ type: 'object', properties: { a: { type: 'string' } } }, rule))))[0]),
      fields,
    );
    const bare = {
      Rule: 'self',
      Message: '',
      MessageExpression: '',
      Reason: null,
      FieldPath: '',
      OptionalOldSelf: null,
    };
    assert.deepEqual(shown((await check(spec(ruled({ type: 'integer' }, { rule: 'self' }))))[0]), bare);
  });

  it('are named from the most expensive when all together cost too much', async () => {
    const part = (maxItems: number): JsonSchema =>
      ruled({ type: 'array', maxItems, items: { type: 'integer' } }, { rule: 'self.all(a, self.all(b, a != b))' });
    const sizes = [700, 1000, 800, 600, 900, 1100, 1200, 1230, 1250, 1260, 1270, 1280, 1285, 1288, 1289, 100];
    const properties = Object.fromEntries(sizes.map((size) => [`p${size}`, part(size)]));
    const errors = await check({ type: 'object', properties });
    const contributed = errors.filter((each) => each.includes('contributed to')).map((each) => /p\d+/.exec(each)?.[0]);
    assert.deepEqual(contributed, ['p1289', 'p1288', 'p1285', 'p1280']);
  });

  it('may ask for the type of a value that has two, at no cost', async () => {
    const either = {
      'x-kubernetes-int-or-string': true,
      'x-kubernetes-validations': [{ rule: 'type(self) == string' }],
    };
    assert.deepEqual(await checkSchemaRules({ type: 'object', properties: { a: either } }, 's'), []);
  });
});
