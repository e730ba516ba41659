import assert from 'node:assert/strict';
import test from 'node:test';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const group = 'admissionregistration.k8s.io/v1';
const rule = { operations: ['CREATE'], apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] };
const shared = { matchConstraints: { resourceRules: [rule] } };
const validating = new RulesFixture(group, 'ValidatingAdmissionPolicy', {
  spec: { ...shared, validations: [{ expression: 'object.spec.replicas < 5' }] },
});
const mutating = new RulesFixture(group, 'MutatingAdmissionPolicy', {
  spec: {
    ...shared,
    reinvocationPolicy: 'Never',
    mutations: [
      { patchType: 'ApplyConfiguration', applyConfiguration: { expression: 'Object{spec: Object.spec{replicas: 1}}' } },
      {
        patchType: 'JSONPatch',
        jsonPatch: {
          expression: '[JSONPatch{op: "add", path: "/metadata/labels/" + jsonpatch.escapeKey("a/b"), value: "c"}]',
        },
      },
    ],
  },
});
const binding = new RulesFixture(group, 'ValidatingAdmissionPolicyBinding', {
  spec: { policyName: 'p', validationActions: ['Deny'] },
});

test('admission policies get the defaults of the API', () => {
  for (const fixture of [validating, mutating]) {
    const { spec } = fixture.created() as unknown as { readonly spec: Record<string, unknown> };
    assert.equal(spec['failurePolicy'], 'Fail');
    assert.deepEqual(spec['matchConstraints'], {
      resourceRules: [{ ...rule, scope: '*' }],
      namespaceSelector: {},
      objectSelector: {},
      matchPolicy: 'Equivalent',
    });
    assert.deepEqual(fixture.refusals(), []);
  }
});

test('an admission policy that cannot be evaluated is refused', () => {
  const cases: readonly [Changes, RegExp][] = [
    [
      { 'spec.validations[0].expression': 'object.' },
      /^spec.validations\[0\].expression: Invalid value: "object.": compilation failed: ERROR: <input>:1:8: Syntax error/,
    ],
    [{ 'spec.validations[0].expression': '1' }, /must evaluate to bool/],
    [{ 'spec.validations[0].expression': 'params.a == 1' }, /undeclared reference to 'params'/],
    [
      { 'spec.validations[0].messageExpression': '1' },
      /messageExpression: Invalid value: "1": must evaluate to string/,
    ],
    [{ 'spec.validations[0].message': 'a\nb' }, /must not contain line breaks/],
    [{ 'spec.validations[0].reason': 'Gone' }, /reason: Unsupported value: "Gone"/],
    [{ 'spec.validations': undefined }, /validations or auditAnnotations must contain at least one item/],
    [{ 'spec.variables': [{ name: 'in', expression: '1' }] }, /must be a valid CEL identifier/],
    [{ 'spec.variables': [{ name: 'a', expression: 'variables.b' }] }, /undefined field 'b'/],
    [{ 'spec.matchConstraints.resourceRules': [] }, /spec.matchConstraints.resourceRules: Required value/],
    [{ 'spec.paramKind': { apiVersion: 'a/b/c', kind: 'K' } }, /unexpected GroupVersion string/],
    [{ 'spec.auditAnnotations': [{ key: 'a', valueExpression: '1' }] }, /must evaluate to one of \[string null_type\]/],
  ];
  for (const [changes, expected] of cases) assert.match(validating.refusals(changes).join('\n'), expected);
  const variables = [{ name: 'a', expression: '1' }];
  assert.deepEqual(
    validating.refusals({ 'spec.variables': variables, 'spec.validations[0].expression': 'variables.a == 1' }),
    [],
  );
});

test('a mutation has one expression, for its type', () => {
  assert.match(
    mutating.refusals({ 'spec.mutations[0].applyConfiguration.expression': '[1]' }).join(),
    /must evaluate to Object but got list\(int\)/,
  );
  assert.match(
    mutating.refusals({ 'spec.mutations[0].jsonPatch': { expression: '[]' } }).join(),
    /must not be specified when patchType is ApplyConfiguration/,
  );
  assert.match(
    mutating.refusals({ 'spec.matchConstraints.resourceRules[0].operations': ['DELETE'] }).join(),
    /Unsupported value: "DELETE": supported values: "\*", "CONNECT", "CREATE", "UPDATE"/,
  );
});

test('a binding says what happens', () => {
  assert.deepEqual(binding.refusals(), []);
  assert.match(
    binding.refusals({ 'spec.validationActions': ['Deny', 'Warn'] }).join(),
    /must not contain both Deny and Warn/,
  );
  assert.match(binding.refusals({ 'spec.validationActions': [] }).join(), /at least one validation action is required/);
  assert.match(binding.refusals({ 'spec.paramRef': {} }).join(), /one of name or selector must be specified/);
});
