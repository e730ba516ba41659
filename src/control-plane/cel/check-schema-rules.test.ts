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

describe('the rules of a new schema', () => {
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
});
