import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Evaluation, Program } from '../../cel/compile.ts';
import { compileExpression } from '../../cel/compile.ts';
import { Suspension } from '../../cel/frame.ts';
import { Semver, semverType } from '../../cel/library/semver.ts';
import { objectType } from '../../cel/types.ts';
import type { CelValue } from '../../cel/values.ts';
import type { AuthorizationQuestion } from './authorizer.ts';
import {
  AuthorizationChecks,
  AuthorizerValue,
  authorizerType,
  resourceCheck,
  resourceCheckType,
} from './authorizer.ts';
import { baseEnvironment } from './environment.ts';
import { QuantityValue, quantityType } from './quantity.ts';

const environment = baseEnvironment.withVariables({
  authorizer: objectType('wrapped', {}),
  asked: authorizerType,
  'asked.requestResource': resourceCheckType,
  size: quantityType,
  version: semverType,
});

function compile(source: string): Program {
  const program = compileExpression(source, environment);
  assert.ok('evaluate' in program, 'fault' in program ? program.fault : '');
  return program;
}

/** Evaluates until no answer is missing. */
async function evaluate(source: string, variables: Readonly<Record<string, CelValue>>): Promise<Evaluation['result']> {
  const program = compile(source);
  for (;;) {
    try {
      return program.evaluate((name) => variables[name], 1_000_000).result;
    } catch (error) {
      if (!(error instanceof Suspension)) throw error;
      await error.answer;
    }
  }
}

describe('the authorizer of expressions', () => {
  const asked: AuthorizationQuestion[] = [];
  const checks = new AuthorizationChecks(async (question) => {
    asked.push(question);
    if (question.verb === 'break') throw new Error('no answer');
    return { allowed: question.verb === 'get', reason: 'because' };
  });
  const variables = {
    asked: new AuthorizerValue(checks),
    'asked.requestResource': resourceCheck(checks, { group: 'apps', resource: 'deployments', name: 'web' }),
  };

  it('asks about resources and paths, each question once', async () => {
    const source = "asked.group('').resource('pods').namespace('n').check('get').allowed()";
    assert.equal(await evaluate(source, variables), true);
    assert.equal(await evaluate(source, variables), true);
    assert.deepEqual(asked, [{ group: '', resource: 'pods', namespace: 'n', verb: 'get' }]);
    assert.equal(await evaluate("asked.path('/healthz').check('post').reason()", variables), 'because');
    assert.equal(await evaluate("asked.requestResource.subresource('scale').check('get').allowed()", variables), true);
    assert.deepEqual(asked.at(-1), {
      group: 'apps',
      resource: 'deployments',
      name: 'web',
      subresource: 'scale',
      verb: 'get',
    });
  });

  it('tells a failure from a refusal', async () => {
    const decision = "asked.group('').resource('pods').check('break')";
    assert.equal(await evaluate(`${decision}.errored() && !${decision}.allowed()`, variables), true);
    assert.equal(await evaluate(`${decision}.error()`, variables), 'no answer');
  });

  it('lets one expression make two checks and no more', async () => {
    const check = (name: string): string => `asked.group('').resource('${name}').check('get').allowed()`;
    assert.equal(await evaluate(`${check('a')} && ${check('b')}`, variables), true);
    assert.equal(await evaluate(`${check('a')} && ${check('b')} && ${check('c')}`, variables), 'cost-exceeded');
  });
});

describe('values of Kubernetes', () => {
  it('are computed with in expressions', async () => {
    const version = Semver.parse('1.2.3');
    assert.ok(version !== undefined);
    const variables = { size: new QuantityValue({ nanos: 2n * 1024n * 1_000_000_000n, format: 'BinarySI' }), version };
    for (const source of [
      "size.compareTo(quantity('2Ki')) == 0 && size == quantity('2048')",
      "size.add(1).isGreaterThan(quantity('2Ki')) && size.asInteger() == 2048",
      "quantity('1500m').asApproximateFloat() == 1.5 && !quantity('1m').isInteger()",
      "version.isGreaterThan(semver('1.2.3-alpha'))",
      "format.dns1123Label().validate('A').hasValue() && !format.named('uuid').value().validate('123e4567-e89b-12d3-a456-426614174000').hasValue()",
      "!format.named('nothing').hasValue()",
    ])
      assert.equal(await evaluate(source, variables), true, source);
  });
});
