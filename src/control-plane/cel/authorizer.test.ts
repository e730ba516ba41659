import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AuthorizationQuestion } from './authorizer.ts';
import {
  AuthorizationChecks,
  AuthorizerValue,
  authorizerType,
  resourceCheck,
  resourceCheckType,
} from './authorizer.ts';
import { baseEnvironment } from './environment.ts';
import { evaluateAsking } from './testing/evaluate-expression.ts';

const environment = baseEnvironment.withVariables({
  asked: authorizerType,
  'asked.requestResource': resourceCheckType,
});

function fixture() {
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
  return { asked, evaluate: (source: string) => evaluateAsking(source, variables, environment) };
}

describe('the authorizer of expressions', () => {
  it('asks about resources, each question once', async () => {
    const { asked, evaluate } = fixture();
    const source = "asked.group('').resource('pods').namespace('n').check('get').allowed()";
    assert.equal(await evaluate(source), true);
    assert.equal(await evaluate(source), true);
    assert.deepEqual(asked, [{ group: '', resource: 'pods', namespace: 'n', verb: 'get' }]);
    assert.equal(await evaluate("asked.requestResource.subresource('scale').check('get').allowed()"), true);
    const scale = { group: 'apps', resource: 'deployments', name: 'web', subresource: 'scale', verb: 'get' };
    assert.deepEqual(asked.at(-1), scale);
  });

  it('puts every part of a question where it belongs', async () => {
    const { asked, evaluate } = fixture();
    const check = "asked.group('g').resource('r').subresource('s').namespace('n').name('x')";
    await evaluate(`${check}.fieldSelector('f').labelSelector('l').check('list').allowed()`);
    assert.deepEqual(asked, [
      {
        group: 'g',
        resource: 'r',
        subresource: 's',
        namespace: 'n',
        name: 'x',
        fieldSelector: 'f',
        labelSelector: 'l',
        verb: 'list',
      },
    ]);
  });

  it('asks about paths', async () => {
    const { asked, evaluate } = fixture();
    assert.equal(await evaluate("asked.path('/healthz').check('post').reason()"), 'because');
    assert.equal(await evaluate("asked.path('/healthz').check('post').allowed()"), false);
    assert.deepEqual(asked, [{ path: '/healthz', verb: 'post' }]);
  });

  it('asks for a service account instead of the user of the request', async () => {
    const { asked, evaluate } = fixture();
    const account = { namespace: 'n', name: 'a.b' };
    await evaluate("asked.serviceAccount('n', 'a.b').path('/x').check('get').allowed()");
    await evaluate("asked.serviceAccount('n', 'a.b').group('g').resource('r').check('get').allowed()");
    assert.deepEqual(asked, [
      { serviceAccount: account, path: '/x', verb: 'get' },
      { serviceAccount: account, group: 'g', resource: 'r', verb: 'get' },
    ]);
  });

  it('refuses names that cannot be asked about', async () => {
    const { asked, evaluate } = fixture();
    const refusals = {
      "asked.path('').check('get').allowed()": 'path must not be empty',
      "asked.group('').resource('').check('get').allowed()": 'resource must not be empty',
      "asked.serviceAccount('n', 'A').path('/x').check('get').allowed()": 'Invalid service account name',
      "asked.serviceAccount('a.b', 'a').path('/x').check('get').allowed()": 'Invalid service account namespace',
    };
    for (const [source, message] of Object.entries(refusals))
      assert.equal(await evaluate(source), `error: ${message}`, source);
    assert.deepEqual(asked, []);
  });

  it('tells a failure from a refusal', async () => {
    const { evaluate } = fixture();
    const decision = (verb: string): string => `asked.group('').resource('pods').check('${verb}')`;
    assert.equal(await evaluate(`${decision('break')}.errored() && !${decision('break')}.allowed()`), true);
    assert.equal(await evaluate(`${decision('break')}.error()`), 'no answer');
    assert.equal(await evaluate(`${decision('list')}.errored()`), false);
    assert.equal(await evaluate(`${decision('list')}.error()`), '');
  });

  it('lets one expression make two checks and no more', async () => {
    const { evaluate } = fixture();
    const check = (name: string): string => `asked.group('').resource('${name}').check('get').allowed()`;
    assert.equal(await evaluate(`${check('a')} && ${check('b')}`), true);
    assert.equal(await evaluate(`${check('a')} && ${check('b')} && ${check('c')}`), 'cost-exceeded');
  });

  it('the authorizer in CEL has types with names, and parts that equal only themselves', async () => {
    const { evaluate } = fixture();
    const name = 'kubernetes.authorization';
    for (const source of [
      `type(asked) == ${name}.Authorizer`,
      `type(asked.path('/x')) == ${name}.PathCheck`,
      `type(asked.group('')) == ${name}.GroupCheck`,
      `type(asked.requestResource) == ${name}.ResourceCheck`,
      `type(asked.path('/x').check('get')) == ${name}.Decision`,
      'asked == asked',
      "asked.path('/x') != asked.path('/x')",
    ])
      assert.equal(await evaluate(source), true, source);
  });
});
