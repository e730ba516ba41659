import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { JsonSchema, ValidationRule } from '../../api/structural/json-schema.ts';
import { compileSchema } from '../../api/structural/schema-node.ts';
import { formatFieldError } from '../../api/validation/field-error.ts';
import { CelBudget } from '../../cel/budget.ts';
import { evaluateRules } from './evaluate-rules.ts';
import { RUNTIME_BUDGET } from './limits.ts';
import type { RuleTree } from './rule-tree.ts';
import { ruleTree } from './rule-tree.ts';

interface Outcome {
  readonly errors: readonly string[];
  readonly warnings: readonly string[];
}

async function judge(schema: JsonSchema, value: unknown, old?: unknown, units = RUNTIME_BUDGET): Promise<Outcome> {
  const warnings: string[] = [];
  const errors = await evaluateRules(ruleTree(compileSchema(schema), true) as RuleTree, value, {
    old: old === undefined ? undefined : { value: old },
    ratchets: true,
    budget: new CelBudget(units),
    warn: (text) => warnings.push(text),
  });
  return { errors: errors.map(formatFieldError), warnings };
}

const spec = (schema: JsonSchema): JsonSchema => ({ type: 'object', properties: { spec: schema } });
const rules = (...rule: readonly string[]): JsonSchema => ({
  'x-kubernetes-validations': rule.map((each) => ({ rule: each })),
});

describe('CEL rules', () => {
  it('name the part that is wrong, with its value where that is a scalar', async () => {
    const schema = spec({
      type: 'object',
      properties: {
        size: { type: 'integer', ...rules('self < 3') },
        names: { type: 'array', items: { type: 'string', ...rules("self != 'x'") } },
        labels: { type: 'object', additionalProperties: { type: 'string', ...rules('self.size() < 3') } },
      },
      ...rules('has(self.size)'),
    });
    const value = { spec: { size: 3, names: ['a', 'x'], labels: { a: 'long' } } };
    assert.deepEqual((await judge(schema, value)).errors, [
      'spec.size: Invalid value: 3: failed rule: self < 3',
      `spec.names[1]: Invalid value: "x": failed rule: self != 'x'`,
      'spec.labels[a]: Invalid value: "long": failed rule: self.size() < 3',
    ]);
    assert.deepEqual((await judge(schema, { spec: {} })).errors, ['spec: Invalid value: failed rule: has(self.size)']);
  });

  it('answer with message, reason and the field that the rule names', async () => {
    const rule = { rule: 'false', message: ' no ', reason: 'FieldValueForbidden', fieldPath: '.a.b' };
    const inner: JsonSchema = { type: 'object', properties: { b: { type: 'string' } } };
    const schema = spec({ type: 'object', properties: { a: inner }, 'x-kubernetes-validations': [rule] });
    assert.deepEqual((await judge(schema, { spec: {} })).errors, ['spec.a.b: Forbidden: no']);
    const atRoot: JsonSchema = { type: 'object', properties: { a: inner }, 'x-kubernetes-validations': [rule] };
    assert.deepEqual((await judge(atRoot, {})).errors, ['a.b: Forbidden: no']);
  });

  it('answer in the form of the reason that they give', async () => {
    const outcome = async (schema: JsonSchema, reason: string, value: unknown): Promise<readonly string[]> => {
      const ruled = { ...schema, 'x-kubernetes-validations': [{ rule: 'false', message: 'no', reason }] };
      return (await judge(spec(ruled), { spec: value })).errors;
    };
    const [text, list]: JsonSchema[] = [{ type: 'string' }, { type: 'array', items: { type: 'string' } }];
    assert.ok(text && list);
    assert.deepEqual(await outcome(text, 'FieldValueForbidden', 'a'), ['spec: Forbidden: no']);
    assert.deepEqual(await outcome(text, 'FieldValueRequired', 'a'), ['spec: Required value: no']);
    assert.deepEqual(await outcome(text, 'FieldValueInvalid', 'a'), ['spec: Invalid value: "a": no']);
    assert.deepEqual(await outcome(text, 'FieldValueDuplicate', 'a'), ['spec: Duplicate value: "a"']);
    assert.deepEqual(await outcome(list, 'FieldValueDuplicate', ['a']), ['spec: Duplicate value']);
    assert.deepEqual(await outcome(list, 'FieldValueInvalid', ['a']), ['spec: Invalid value: no']);
  });

  it('name the whole object where they stand at its top', async () => {
    const schema: JsonSchema = { type: 'object', ...rules('has(self.metadata.name)') };
    assert.deepEqual((await judge(schema, {})).errors, [
      '<nil>: Invalid value: "object": no such key: metadata evaluating rule: has(self.metadata.name)',
    ]);
    const failing: JsonSchema = { type: 'object', ...rules("self.kind == 'K'") };
    assert.deepEqual((await judge(failing, { kind: 'L' })).errors, [
      "<nil>: Invalid value: failed rule: self.kind == 'K'",
    ]);
  });

  it('pass over values that are not there, and over null', async () => {
    const schema = spec({ type: 'object', properties: { a: { type: 'integer', nullable: true, ...rules('false') } } });
    for (const value of [{ spec: { a: null } }, { spec: {} }, { spec: null }, {}, { spec: 3 }])
      assert.deepEqual(await judge(schema, value), { errors: [], warnings: [] }, JSON.stringify(value));
  });

  it('go on after one that does not compile, that fails, and that compares with nothing', async () => {
    const schema = spec({
      type: 'integer',
      ...rules('self.nothing', 'self == oldSelf', 'self / 0 == 1', 'self < 0', 'self > 0'),
    });
    const { errors } = await judge(schema, { spec: 1 });
    assert.equal(errors.length, 3);
    assert.match(errors[0] ?? '', /^spec: Invalid value: "integer": rule compile error: /);
    assert.equal(errors[1], 'spec: Invalid value: "integer": division by zero evaluating rule: self / 0 == 1');
    assert.equal(errors[2], 'spec: Invalid value: 1: failed rule: self < 0');
  });

  it('take an old null for no old value', async () => {
    const schema = spec({ type: 'integer', ...rules('self == oldSelf') });
    assert.deepEqual((await judge(schema, { spec: 1 }, { spec: null })).errors, []);
    assert.equal((await judge(schema, { spec: 1 }, { spec: 2 })).errors.length, 1);
  });

  it('always apply to version and kind of the whole object', async () => {
    const text: JsonSchema = { type: 'string', ...rules("self == 'a'") };
    const schema: JsonSchema = { type: 'object', properties: { kind: text, spec: text } };
    const object = { kind: 'b', spec: 'b' };
    assert.deepEqual(await judge(schema, object, { ...object }), {
      errors: [`kind: Invalid value: "b": failed rule: self == 'a'`],
      warnings: [`spec: Invalid value: "b": failed rule: self == 'a'`],
    });
  });

  it('ratchet items of a list that is a map by their keys', async () => {
    const schema = spec({
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['name'],
      items: {
        type: 'object',
        properties: { name: { type: 'string' }, size: { type: 'integer' } },
        ...rules('self.size < 3'),
      },
    });
    const old = {
      spec: [
        { name: 'a', size: 5 },
        { name: 'b', size: 1 },
      ],
    };
    const next = {
      spec: [
        { name: 'b', size: 5 },
        { name: 'a', size: 5 },
      ],
    };
    assert.deepEqual(await judge(schema, next, old), {
      errors: ['spec[0]: Invalid value: failed rule: self.size < 3'],
      warnings: ['spec[1]: Invalid value: failed rule: self.size < 3'],
    });
  });

  it('say which limit an evaluation went beyond', async () => {
    const each = 'self.all(a, self.all(b, self.all(c, a + b + c >= 0)))';
    const value = { spec: Array.from({ length: 80 }, (_, index) => index) };
    const list = (rule: ValidationRule): JsonSchema =>
      spec({ type: 'array', items: { type: 'integer' }, 'x-kubernetes-validations': [rule, { rule: 'false' }] });
    const said = async (rule: ValidationRule, units?: number): Promise<readonly string[]> =>
      (await judge(list(rule), value, undefined, units)).errors;
    const at = 'spec: Invalid value: "array":';
    const end = 'no further validation rules will be run';
    assert.deepEqual(await said({ rule: each, message: ' slow ' }), [
      `${at} 'operation cancelled: actual cost limit exceeded': ${end} due to call cost exceeds limit for rule: slow`,
    ]);
    assert.deepEqual(await said({ rule: each }, 1000), [
      `${at} validation failed due to running out of cost budget, ${end}`,
    ]);
    const message = { rule: 'false', messageExpression: `string(${each})` };
    assert.deepEqual(await said(message), [
      `${at} ${end} due to call cost exceeds limit for messageExpression: ${JSON.stringify(message.messageExpression)}`,
    ]);
    assert.deepEqual(await said(message, 1000), [
      `${at} messageExpression evaluation failed due to running out of cost budget, ${end}`,
    ]);
  });

  it('name a part of a map with its key', async () => {
    const rule = { rule: 'false', message: 'no', fieldPath: ".labels['app.kubernetes.io/name']" };
    const labels: JsonSchema = { type: 'object', additionalProperties: { type: 'string' } };
    const schema = spec({ type: 'object', properties: { labels }, 'x-kubernetes-validations': [rule] });
    assert.deepEqual((await judge(schema, { spec: {} })).errors, [
      'spec.labels[app.kubernetes.io/name]: Invalid value: no',
    ]);
  });

  it('see an old value only where there is one that belongs to the same part', async () => {
    const immutable = rules('self == oldSelf');
    const schema = spec({
      type: 'object',
      properties: {
        id: { type: 'string', ...immutable },
        parts: {
          type: 'array',
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            properties: { name: { type: 'string' }, size: { type: 'integer', ...immutable } },
          },
        },
      },
    });
    const part = (name: string, size: number): object => ({ name, size });
    const old = { spec: { id: 'a', parts: [part('x', 1), part('y', 2)] } };
    assert.deepEqual(await judge(schema, old), { errors: [], warnings: [] });
    const next = { spec: { id: 'b', parts: [part('y', 3), part('z', 9), part('x', 1)] } };
    assert.deepEqual((await judge(schema, next, old)).errors, [
      'spec.id: Invalid value: "b": failed rule: self == oldSelf',
      'spec.parts[0].size: Invalid value: 3: failed rule: self == oldSelf',
    ]);
  });

  it('are evaluated for a new part too when the old value is optional', async () => {
    const schema = spec({
      type: 'string',
      'x-kubernetes-validations': [{ rule: "oldSelf.hasValue() || self == 'first'", optionalOldSelf: true }],
    });
    assert.equal((await judge(schema, { spec: 'other' })).errors.length, 1);
    assert.equal((await judge(schema, { spec: 'first' })).errors.length, 0);
    assert.equal((await judge(schema, { spec: 'other' }, { spec: 'x' })).errors.length, 0);
  });

  it('warn of what was wrong before and stays as it was', async () => {
    const schema = spec({
      type: 'object',
      properties: {
        a: { type: 'integer', ...rules('self < 3') },
        list: { type: 'array', items: { type: 'integer', ...rules('self < 3') } },
      },
    });
    const old = { spec: { a: 5, list: [7] } };
    const warned = {
      errors: [],
      warnings: [
        'spec.a: Invalid value: 5: failed rule: self < 3',
        'spec.list[0]: Invalid value: 7: failed rule: self < 3',
      ],
    };
    assert.deepEqual(await judge(schema, { spec: { ...old.spec } }, old), warned);
    const { errors } = await judge(schema, { spec: { a: 6, list: [7, 1] } }, old);
    assert.deepEqual(errors, [
      'spec.a: Invalid value: 6: failed rule: self < 3',
      'spec.list[0]: Invalid value: 7: failed rule: self < 3',
    ]);
  });

  it('say in words what went wrong in an evaluation', async () => {
    const schema = spec({
      type: 'object',
      properties: { a: { 'x-kubernetes-int-or-string': true } },
      ...rules('self.b == 1', 'self.a + 1 > 2'),
      ...{ 'x-kubernetes-preserve-unknown-fields': true },
    });
    const { errors } = await judge(
      spec({ type: 'object', additionalProperties: { type: 'integer' }, ...rules("self['b'] == 1") }),
      {
        spec: {},
      },
    );
    assert.deepEqual(errors, [`spec: Invalid value: "object": no such key: b evaluating rule: self['b'] == 1`]);
    assert.match(
      (await judge(schema, { spec: { a: 'x' } })).errors[0] ?? '',
      /^spec: Invalid value: "object": rule compile error: compilation failed: /,
    );
  });

  it('stop when the budget of the object is used up', async () => {
    const items = { type: 'integer', ...rules('self >= 0') } as const;
    const value = { spec: Array.from({ length: 50 }, (_, index) => index) };
    const { errors } = await judge(spec({ type: 'array', items }), value, undefined, 20);
    assert.deepEqual(errors, [
      'spec[10]: Invalid value: "integer": validation failed due to running out of cost budget, no further validation rules will be run',
    ]);
  });

  it('read the names of a resource that is embedded', async () => {
    const schema = spec({
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
      ...rules("self.metadata.name.startsWith('a') && self.kind == 'K'"),
    });
    const object = (name: string): object => ({ spec: { apiVersion: 'v1', kind: 'K', metadata: { name } } });
    assert.deepEqual((await judge(schema, object('ab'))).errors, []);
    assert.equal((await judge(schema, object('b'))).errors.length, 1);
  });

  it('let other work have its turn between expensive ones', async () => {
    const expensive = 'self.all(a, self.all(b, a != b || true))';
    const schema = spec({ type: 'array', items: { type: 'integer' }, ...rules(expensive, expensive, expensive) });
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    await judge(schema, { spec: Array.from({ length: 200 }, (_, index) => index) });
    isOver = true;
    assert.ok(turns >= 3, `${turns} turns`);
  });
});
