import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CelBudget } from '../../cel/budget.ts';
import type { RuleResult, RuleText } from './schema-rules.ts';
import {
  CRD_ESTIMATE_LIMIT,
  PER_CALL_LIMIT,
  REQUEST_LIMIT_BYTES,
  RULE_ESTIMATE_LIMIT,
  RUNTIME_BUDGET,
} from './limits.ts';
import { compileRule } from './schema-rules.ts';
import type { RuleSchema } from './schema-types.ts';
import { estimateMostElements } from './schema-types.ts';

const schema: RuleSchema = {
  type: 'object',
  properties: {
    replicas: { type: 'integer' },
    weight: { type: 'number' },
    port: { 'x-kubernetes-int-or-string': true },
    names: { type: 'array', maxItems: 10, items: { type: 'string', maxLength: 20 }, 'x-kubernetes-list-type': 'set' },
    parts: {
      type: 'array',
      items: { type: 'object', properties: { key: { type: 'string' }, value: { type: 'integer' } } },
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['key'],
    },
    labels: { type: 'object', additionalProperties: { type: 'string' } },
    'a-b': { type: 'string' },
    namespace: { type: 'string' },
    since: { type: 'string', format: 'date-time' },
    note: { type: 'string', nullable: true },
  },
};

function run(rule: RuleText | string, self: unknown, old?: unknown): RuleResult {
  const text = typeof rule === 'string' ? { rule } : rule;
  const compiled = compileRule(text, schema, { isRoot: false });
  assert.equal(compiled.ruleError, undefined);
  return compiled.evaluate({ self, oldSelf: old, hasOldSelf: old !== undefined }, new CelBudget(RUNTIME_BUDGET));
}

describe('a rule of a schema', () => {
  it('may compare whole objects, whose size counts as nothing in the estimate', () => {
    const compared = { rule: 'self == oldSelf' };
    const { ruleError, ruleCost } = compileRule(compared, schema, { isRoot: false });
    assert.equal(ruleError, undefined);
    assert.ok(ruleCost.max < 10, String(ruleCost.max));
  });

  it('is refused if a literal pattern, duration or time can never be right', () => {
    const faultOf = (rule: string): string | undefined =>
      compileRule({ rule }, schema, { isRoot: false }).ruleError?.split('\n')[0];
    assert.deepEqual(
      ["self.note.matches('(')", "duration('x') == duration('1s')", "timestamp('x') == self.since", 'self.('].map(
        faultOf,
      ),
      [
        'compilation failed: ERROR: <input>:1:19: invalid matches argument',
        'compilation failed: ERROR: <input>:1:10: invalid duration argument',
        'compilation failed: ERROR: <input>:1:11: invalid timestamp argument',
        "compilation failed: ERROR: <input>:1:6: Syntax error: no viable alternative at input '.('",
      ],
    );
    for (const rule of ["self.note.matches('a')", 'self.note.matches(self.note)', "duration('1s') < duration('2s')"])
      assert.equal(faultOf(rule), undefined, rule);
    // Patterns beyond a total are compiled when they are used.
    const many = Array.from({ length: 60 }, () => "self.note.matches('a{900}')").join(' || ');
    assert.equal(faultOf(`self.note.matches('(') || ${many}`), undefined);
  });

  it('reads fields by the types that the schema declares', () => {
    const self = {
      replicas: 3,
      weight: 2,
      port: '80%',
      labels: { constructor: 'x' },
      'a-b': 'c',
      namespace: 'n',
      since: '2024-01-01T00:00:00Z',
      note: null,
    };
    for (const rule of [
      'self.replicas == 3 && self.weight == 2.0',
      'type(self.port) == string',
      'self.labels["constructor"] == "x" && !has(self.labels.toString)',
      'self.a__dash__b == "c" && self.__namespace__ == "n"',
      'self.namespace == "n" && has(self.namespace)',
      'self.since.getFullYear() == 2024',
      'dyn(self.note) == null',
      '!has(self.names)',
    ])
      assert.deepEqual(run(rule, self), { kind: 'pass' }, rule);
  });

  it('compares sets without order and merges maps by their keys', () => {
    assert.deepEqual(run('self.names == ["b", "a"]', { names: ['a', 'b'] }), { kind: 'pass' });
    assert.deepEqual(run('(self.names + ["a"]).size() == 2', { names: ['a', 'b'] }), { kind: 'pass' });
    const parts = [
      { key: 'x', value: 1 },
      { key: 'y', value: 2 },
    ];
    const rule = 'self.parts == oldSelf.parts && (self.parts + oldSelf.parts).size() == 2';
    assert.deepEqual(run(rule, { parts }, { parts: [...parts].reverse() }), { kind: 'pass' });
  });

  it('gives the text of its message expression, unless it cannot be shown', () => {
    const rule = { rule: 'self.replicas > 5', messageExpression: '"has " + string(self.replicas)' };
    assert.deepEqual(run(rule, { replicas: 3 }), { kind: 'fail', message: 'has 3' });
    assert.deepEqual(run({ ...rule, messageExpression: '"a\\nb"' }, { replicas: 3 }), { kind: 'fail' });
    assert.deepEqual(run({ ...rule, messageExpression: 'self.namespace' }, { replicas: 3 }), { kind: 'fail' });
  });

  it('shows a message of one line, trimmed and no longer than 5120 characters', () => {
    const shown = (text: string): RuleResult =>
      run({ rule: 'self.replicas > 5', messageExpression: 'self.__namespace__' }, { replicas: 3, namespace: text });
    assert.deepEqual(shown(' a '), { kind: 'fail', message: 'a' });
    assert.deepEqual(shown('\na\n'), { kind: 'fail', message: 'a' });
    assert.deepEqual(shown(' '), { kind: 'fail' });
    assert.deepEqual(shown('a'.repeat(5120)), { kind: 'fail', message: 'a'.repeat(5120) });
    assert.deepEqual(shown('a'.repeat(5121)), { kind: 'fail' });
  });

  it('says what went wrong in an evaluation', () => {
    assert.deepEqual(run('self.replicas > 1', {}), {
      kind: 'error',
      message: 'no such key: replicas',
    });
  });

  it('knows whether it looks at what was before', () => {
    const transition = compileRule({ rule: 'self.replicas >= oldSelf.replicas' }, schema, { isRoot: false });
    assert.equal(transition.usesOldSelf, true);
    const optional = {
      rule: '!oldSelf.hasValue() || self.replicas >= oldSelf.value().replicas',
      optionalOldSelf: true,
    };
    assert.deepEqual(run(optional, { replicas: 1 }), { kind: 'pass' });
    assert.deepEqual(run(optional, { replicas: 1 }, { replicas: 2 }), { kind: 'fail' });
  });

  it('is refused for what it is', () => {
    const errorOf = (rule: string): string | undefined => compileRule({ rule }, schema, { isRoot: false }).ruleError;
    assert.equal(errorOf('self.replicas'), 'cel expression must evaluate to a bool');
    assert.equal(errorOf(' '), 'rule is not specified');
    const hidden = compileRule({ rule: 'oldSelf == self' }, {}, { isRoot: false });
    assert.equal(hidden.ruleError, 'rules cannot be used on values that expressions cannot see');
    assert.deepEqual(
      [hidden.usesOldSelf, hidden.mostValues, hidden.ruleCost.max, hidden.messageCost.max],
      [false, 1, 0, 0],
    );
    assert.deepEqual(hidden.evaluate({ self: 1, hasOldSelf: false }, new CelBudget(1)), {
      kind: 'error',
      message: hidden.ruleError,
    });
    assert.match(
      errorOf('self.nothing == 1') ?? '',
      /^compilation failed: ERROR: <input>:1:5: undefined field 'nothing'\n/,
    );
    assert.match(
      errorOf('self.replicas == "a"') ?? '',
      /found no matching overload for '_==_' applied to '\(int, string\)'/,
    );
  });

  it('sees the names of a resource at its root', () => {
    const root = compileRule(
      { rule: 'self.metadata.name.size() < 10 && self.kind == "K"' },
      { type: 'object' },
      { isRoot: true },
    );
    const self = { kind: 'K', metadata: { name: 'n', labels: {} } };
    assert.deepEqual(root.evaluate({ self, hasOldSelf: false }, new CelBudget(100)), { kind: 'pass' });
  });

  it('stops when the budget of the object is spent', () => {
    const compiled = compileRule({ rule: 'self.names.all(a, self.names.all(b, a != b + "x"))' }, schema, {
      isRoot: false,
    });
    const budget = new CelBudget(50);
    const result = compiled.evaluate({ self: { names: ['a', 'b', 'c', 'd'] }, hasOldSelf: false }, budget);
    assert.deepEqual(result.kind, 'budget');
    assert.ok(budget.left < 0);
  });
});

describe('the message expression of a rule', () => {
  const compile = (messageExpression: string): ReturnType<typeof compileRule> =>
    compileRule({ rule: 'self.replicas > 5', messageExpression }, schema, { isRoot: false });

  it('is refused where it does not compile or gives no text', () => {
    const integer = compile('self.replicas');
    assert.equal(integer.messageError, 'messageExpression must evaluate to a string');
    assert.match(compile('self.nothing').messageError ?? '', /^messageExpression compilation failed: ERROR: /);
    assert.equal(compile("'a'").messageError, undefined);
    for (const faulty of [integer, compile('self.nothing')]) {
      assert.deepEqual(faulty.messageCost, { min: 0, max: 0 });
      const result = faulty.evaluate({ self: { replicas: 1 }, hasOldSelf: false }, new CelBudget(RUNTIME_BUDGET));
      assert.deepEqual(result, { kind: 'fail' });
    }
    assert.ok(compile('self.__namespace__ + "x"').messageCost.max > 0);
  });

  it('is paid for from what is left', () => {
    const expensive = compile('self.names.map(a, self.names.map(b, a + b)[0])[0]');
    const budget = new CelBudget(20);
    const result = expensive.evaluate(
      { self: { replicas: 1, names: ['a', 'b', 'c', 'd'] }, hasOldSelf: false },
      budget,
    );
    assert.deepEqual(result, { kind: 'budget', of: 'message', limit: 'object' });
  });
});

describe('evaluation limits', () => {
  const each = 'self.all(a, self.all(b, self.all(c, a + b + c >= 0)))';
  const list: RuleSchema = { type: 'array', items: { type: 'integer' } };
  const self = Array.from({ length: 80 }, (_, index) => index);
  const result = (rule: RuleText, units: number): RuleResult =>
    compileRule(rule, list, { isRoot: false }).evaluate({ self, hasOldSelf: false }, new CelBudget(units));

  it('are charged to the budget of the object', () => {
    assert.deepEqual(result({ rule: each }, RUNTIME_BUDGET), { kind: 'budget', of: 'rule', limit: 'call' });
    assert.deepEqual(result({ rule: each }, PER_CALL_LIMIT - 1), { kind: 'budget', of: 'rule', limit: 'object' });
    assert.deepEqual(result({ rule: each }, PER_CALL_LIMIT), { kind: 'budget', of: 'rule', limit: 'object' });
    assert.deepEqual(result({ rule: each }, -1), { kind: 'budget', of: 'rule', limit: 'object' });
  });

  it('hold for the message expression too', () => {
    const rule = { rule: 'false', messageExpression: `string(${each})` };
    assert.deepEqual(result(rule, RUNTIME_BUDGET), { kind: 'budget', of: 'message', limit: 'call' });
  });
});

describe('how many values of a schema a request holds', () => {
  it('follows from the shortest value', () => {
    const most = (of: RuleSchema): number => compileRule({ rule: 'true' }, of, { isRoot: false }).mostValues;
    assert.equal(most({ type: 'boolean' }), Math.floor(REQUEST_LIMIT_BYTES / 5));
    assert.equal(most({ type: 'string' }), Math.floor(REQUEST_LIMIT_BYTES / 3));
  });
});

describe('the estimate of a rule', () => {
  const most = (rule: string): number => compileRule({ rule }, schema, { isRoot: false }).ruleCost.max;

  it('multiplies by the bounds of the schema', () => {
    // Ten names: each turn evaluates the loop condition (2), reads the accumulator (1), and compares one text.
    assert.equal(most('self.names.all(n, n == "a")'), 2 + 1 + 10 * (3 + 1 + 1));
    assert.equal(most('self.replicas == 1'), 3);
    assert.equal(most('has(self.replicas)'), 1);
  });

  it('takes what a request can hold where there is no bound', () => {
    assert.ok(most('self.labels.all(k, k.size() < 5)') > 1_000_000);
    assert.ok(most('self.labels.all(k, k.size() < 5)') < CRD_ESTIMATE_LIMIT);
    assert.ok(most('self.parts.all(a, self.parts.all(b, a == b))') > RULE_ESTIMATE_LIMIT);
    assert.equal(
      estimateMostElements({ type: 'array', items: { type: 'boolean' } }),
      Math.floor((3 * 1024 * 1024 - 2) / 5),
    );
    assert.equal(estimateMostElements({ type: 'string', maxLength: 5 }), 20);
    assert.equal(estimateMostElements({ type: 'integer' }), undefined);
  });
});
