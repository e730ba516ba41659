import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { CelValue } from '../../cel/values.ts';
import { checkMatchCondition, createPolicyChecks } from './policy-checks.ts';
import {
  compileTyped,
  mutationEnvironment,
  policyEnvironment,
  requestType,
  VariableScope,
} from './policy-environment.ts';
import { evaluate, faultOf } from './testing/evaluate-expression.ts';
import { adaptTo } from './typed-values.ts';

const plain = policyEnvironment({ hasParams: false, hasAuthorizer: false });
const whole = policyEnvironment({ hasParams: true, hasAuthorizer: true });

describe('what expressions of policies may refer to', () => {
  it('are the object, the old one, the request and the namespace', () => {
    for (const source of [
      'object.anything == oldObject.anything',
      "request.kind.group + request.kind.version + request.kind.kind + request.subResource == ''",
      "request.resource.resource + request.resource.group + request.resource.version == ''",
      "request.requestKind.kind + request.requestResource.resource + request.requestSubResource == ''",
      "request.name + request.namespace + request.operation == '' && !request.dryRun && request.options.x == 1",
      "request.userInfo.username + request.userInfo.uid == '' && 'g' in request.userInfo.groups",
      "request.userInfo.extra['a'][0] == ''",
      "namespaceObject.metadata.labels['a'] == namespaceObject.metadata.annotations['a']",
      "namespaceObject.metadata.name + namespaceObject.metadata.UID + namespaceObject.metadata.generateName == ''",
      'namespaceObject.metadata.creationTimestamp < namespaceObject.metadata.deletionTimestamp',
      'namespaceObject.metadata.generation == namespaceObject.metadata.deletionGracePeriodSeconds',
      "'f' in namespaceObject.metadata.finalizers && 'f' in namespaceObject.spec.finalizers",
      "namespaceObject.status.phase + namespaceObject.metadata.resourceVersion + namespaceObject.metadata.namespace == ''",
    ])
      assert.equal(faultOf(source, plain), undefined, source);
    assert.match(faultOf('namespaceObject.metadata.ownerReferences', plain) ?? '', /undefined field 'ownerReferences'/);
    assert.match(faultOf('request.object', plain) ?? '', /undefined field 'object'/);
  });

  it('are params and the authorizer only where there are some', () => {
    for (const [source, name] of [
      ['params.a == 1', 'params'],
      ["authorizer.path('/x').check('get').allowed()", 'authorizer'],
      ["authorizer.requestResource.check('get').allowed()", 'authorizer'],
    ] as const) {
      assert.equal(faultOf(source, whole), undefined, source);
      assert.match(faultOf(source, plain) ?? '', new RegExp(`undeclared reference to '${name}'`));
    }
  });

  it('have the types that are known', () => {
    const typed = policyEnvironment({
      hasParams: true,
      hasAuthorizer: false,
      objectType: requestType,
      paramsType: requestType,
    });
    for (const variable of ['object', 'oldObject', 'params']) {
      assert.equal(faultOf(`${variable}.dryRun`, typed), undefined);
      assert.match(faultOf(`${variable}.nothing`, typed) ?? '', /undefined field 'nothing'/);
    }
  });
});

describe('an expression that must give a value of some type', () => {
  const faultOfTyped = (source: string, ...wanted: Parameters<typeof compileTyped>[2]): string | undefined => {
    const program = compileTyped(source, plain, wanted);
    return 'fault' in program ? program.fault : undefined;
  };

  it('is accepted with exactly that type', () => {
    assert.equal(faultOfTyped('true', 'bool'), undefined);
    assert.equal(faultOfTyped('bool(object.x)', 'bool'), undefined);
    assert.equal(faultOfTyped('null', 'string', 'null'), undefined);
    assert.equal(faultOfTyped('[1]'), undefined);
  });

  it('is refused with another', () => {
    assert.equal(faultOfTyped('1', 'bool'), 'must evaluate to bool but got int');
    assert.equal(faultOfTyped('object.x', 'bool'), 'must evaluate to bool but got dyn');
    assert.equal(faultOfTyped('1', 'string', 'null'), 'must evaluate to one of [string null_type] but got int');
    assert.match(
      faultOfTyped('nothing', 'bool') ?? '',
      /^compilation failed: ERROR: .*undeclared reference to 'nothing'/,
    );
  });
});

describe('the variables of a policy', () => {
  it('are known to those behind them, with their types', () => {
    const scope = new VariableScope(plain);
    assert.match(scope.add({ name: 'early', expression: 'variables.a' }) ?? '', /undefined field 'a'/);
    assert.equal(scope.add({ name: 'a', expression: '1' }), undefined);
    assert.equal(scope.add({ name: 'b', expression: 'variables.a + 1' }), undefined);
    assert.match(
      scope.add({ name: 'c', expression: "variables.b + 'x'" }) ?? '',
      /^compilation failed: .*found no matching overload/,
    );
    assert.match(scope.add({ name: 'd', expression: 'variables.e' }) ?? '', /undefined field 'e'/);
    assert.deepEqual([...scope.programs.keys()], ['a', 'b']);
    assert.equal(
      faultOf("variables.c == 'x' && variables.c == 1 && variables.early == 2", scope.environment),
      undefined,
    );
    assert.match(faultOf("variables.b == 'x'", scope.environment) ?? '', /found no matching overload/);
  });
});

describe('the expressions of mutations', () => {
  const environment = mutationEnvironment(plain);

  it('write objects with parts of any name', () => {
    const source = "Object{spec: Object.spec{replicas: 3, labels: {'a': 'b'}}}";
    const value = evaluate(
      `dyn(${source}).spec.replicas == 3 && dyn(${source}).spec.labels['a'] == 'b'`,
      {},
      environment,
    );
    assert.equal(value, true);
    assert.match(faultOf('Objects{}', environment) ?? '', /undeclared reference to 'Objects'/);
    assert.match(faultOf(source, plain) ?? '', /undeclared reference to 'Object'/);
  });

  it('write JSON patches, and escape keys for them', () => {
    const source = "JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('b/~c'), value: 1}";
    assert.equal(evaluate(`dyn(${source}).path == '/a/b~1~0c' && dyn(${source}).value == 1`, {}, environment), true);
    assert.match(faultOf('JSONPatch{op: 1}', environment) ?? '', /expected type of field 'op' is 'string'/);
    assert.match(faultOf("JSONPatch{other: 'a'}", environment) ?? '', /undefined field 'other'/);
  });
});

describe('the request of an expression', () => {
  it('is read by its declared fields', () => {
    const request: CelValue = adaptTo(requestType)({ dryRun: true, userInfo: { groups: ['a'] }, secret: 1 });
    assert.equal(evaluate("request.dryRun && 'a' in request.userInfo.groups", { request }, plain), true);
    assert.equal(evaluate('has(dyn(request).secret)', { request }, plain), false);
  });
});

describe('the check of a policy that is to be stored', () => {
  const checks = createPolicyChecks({ paramKind: { kind: 'ConfigMap' } });

  it('wants the type that each expression has to give', () => {
    const wanted = {
      condition: ['true', '1', 'must evaluate to bool but got int'],
      validation: ['true', '1', 'must evaluate to bool but got int'],
      message: ["'a'", '1', 'must evaluate to string but got int'],
      annotation: ['null', '1', 'must evaluate to one of [string null_type] but got int'],
      applyConfiguration: ['Object{}', '1', 'must evaluate to Object but got int'],
      jsonPatch: ["[JSONPatch{op: 'remove', path: '/a'}]", '1', 'must evaluate to list(JSONPatch) but got int'],
    } as const;
    for (const [name, [good, bad, message]] of Object.entries(wanted)) {
      const check = checks[name as keyof typeof wanted];
      assert.equal(check(good), undefined, name);
      assert.equal(check(bad), message, name);
    }
    assert.equal(checks.annotation("'a'"), undefined);
    assert.equal(checks.jsonPatch('[]'), 'must evaluate to list(JSONPatch) but got list(dyn)');
    assert.equal(checks.jsonPatch("true ? [] : [JSONPatch{op: 'remove', path: '/a'}]"), undefined);
    assert.equal(checks.applyConfiguration('object'), 'must evaluate to Object but got dyn');
  });

  it('knows the authorizer except in messages', () => {
    const allowed = "authorizer.path('/x').check('get').allowed()";
    assert.equal(checks.condition(allowed), undefined);
    assert.equal(checks.validation(allowed), undefined);
    assert.match(checks.message(`string(${allowed})`) ?? '', /undeclared reference to 'authorizer'/);
    assert.equal(checkMatchCondition(allowed), undefined);
    assert.equal(checkMatchCondition('1'), 'must evaluate to bool but got int');
    assert.match(checkMatchCondition('params.a') ?? '', /undeclared reference to 'params'/);
  });

  it('knows params of a policy that has some', () => {
    assert.equal(checks.condition('params.a == 1'), undefined);
    assert.equal(checks.message('string(params.a)'), undefined);
    const without = createPolicyChecks({});
    for (const check of [without.condition, without.message])
      assert.match(check('params.a') ?? '', /undeclared reference to 'params'/);
  });

  it('knows variables everywhere but in conditions', () => {
    const made = createPolicyChecks({});
    assert.equal(made.variable({ name: 'a', expression: '1' }), undefined);
    assert.match(made.variable({ name: 'b', expression: 'nothing' }) ?? '', /^compilation failed/);
    assert.equal(made.validation('variables.a == 1'), undefined);
    assert.equal(made.message('string(variables.a)'), undefined);
    assert.equal(made.annotation('string(variables.a)'), undefined);
    assert.equal(made.applyConfiguration('Object{spec: variables.a}'), undefined);
    assert.equal(made.jsonPatch("[JSONPatch{op: 'add', path: '/a', value: variables.a}]"), undefined);
    assert.match(made.condition('variables.a == 1') ?? '', /undeclared reference to 'variables'/);
  });
});
