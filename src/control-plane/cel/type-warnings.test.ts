import assert from 'node:assert/strict';
import test from 'node:test';
import type { ValidatingAdmissionPolicy } from '../../api/admissionregistration/validating-admission-policy.ts';
import { DeploymentSchema } from '../../api/apps/deployment.ts';
import { configMaps, deployments, pods } from '../../api/client/resource-types.ts';
import { ConfigMapSchema } from '../../api/core/config-map.ts';
import { PodSchema } from '../../api/core/pod.ts';
import type { CheckedKind } from './type-warnings.ts';
import { findTypeWarnings } from './type-warnings.ts';

const kinds = [{ ...deployments, schema: DeploymentSchema }];
const warningsOf = (resource: string, ...expressions: string[]) =>
  findTypeWarnings(
    {
      metadata: { name: 'p', namespace: '', uid: '' },
      spec: {
        matchConstraints: { resourceRules: [{ apiGroups: ['apps'], apiVersions: ['v1'], resources: [resource] }] },
        variables: [{ name: 'count', expression: 'object.spec.replicas' }],
        validations: expressions.map((expression) => ({ expression })),
      },
      status: {},
    } satisfies ValidatingAdmissionPolicy,
    kinds,
  );

test('expressions are checked against the types of the kinds that a policy names', () => {
  const [first, ...others] = warningsOf(
    'deployments',
    'object.foo < 1',
    'object.spec.replicas > 1 && variables.count < 5',
    "object.spec.template.spec.containers.all(c, c.name != '') && object.metadata.labels['a'] == 'b'",
    "object.spec.replicas == 'x'",
  );
  assert.equal(first?.fieldRef, 'spec.validations[0].expression');
  assert.match(first?.warning ?? '', /^apps\/v1, Kind=Deployment: ERROR: <input>:1:7: undefined field 'foo'/);
  assert.deepEqual(
    others.map(({ fieldRef }) => fieldRef),
    ['spec.validations[3].expression'],
  );
});

test('kinds that are not known and stars are not checked', () => {
  assert.deepEqual([...warningsOf('widgets', 'object.foo < 1'), ...warningsOf('*', 'object.foo < 1')], []);
});

interface Rule {
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
}

const served = [
  { ...deployments, schema: DeploymentSchema },
  { ...pods, schema: PodSchema },
];

function check(
  rules: readonly Rule[] | undefined,
  spec: object,
  known: readonly CheckedKind[] = served,
): readonly string[] {
  const policy = {
    metadata: { name: 'p' },
    spec: { ...(rules && { matchConstraints: { resourceRules: rules } }), ...spec },
  } as ValidatingAdmissionPolicy;
  return findTypeWarnings(policy, known).map(({ fieldRef, warning }) => `${fieldRef}: ${warning}`);
}

const podRule: Rule = { apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const validation = (expression: string, messageExpression?: string) => ({
  validations: [{ expression, ...(messageExpression !== undefined && { messageExpression }) }],
});

test('a kind is checked where group, version and resource are named', () => {
  const faulty = validation('object.foo < 1');
  const [warning = '', ...others] = check([podRule], faulty);
  assert.match(warning, /^spec.validations\[0\].expression: v1, Kind=Pod: ERROR: <input>:1:7: undefined field 'foo'/);
  assert.deepEqual(others, []);
  assert.equal(check([podRule, podRule], faulty)[0], warning);
  for (const other of [
    { apiGroups: ['apps'] },
    { apiVersions: ['v2'] },
    { resources: ['nodes'] },
    { apiGroups: ['', '*'] },
    { apiVersions: ['v1', '*'] },
  ])
    assert.deepEqual(check([{ ...podRule, ...other }], faulty), [], JSON.stringify(other));
  for (const missing of ['apiGroups', 'apiVersions', 'resources'])
    assert.deepEqual(check([{ ...podRule, [missing]: undefined }], faulty), [], missing);
  assert.deepEqual(check(undefined, faulty), []);
  assert.equal(
    check([podRule, { apiGroups: ['apps'], apiVersions: ['v1'], resources: ['deployments'] }], faulty)[0]?.split(
      'Kind=',
    ).length,
    3,
  );
});

test('ten kinds are checked at most', () => {
  const many = Array.from({ length: 12 }, (_, index) => ({ ...pods, plural: `k${index}`, schema: PodSchema }));
  const [warning = ''] = check(
    [{ ...podRule, resources: many.map(({ plural }) => plural) }],
    validation('object.foo < 1'),
    many,
  );
  assert.equal(warning.split('Kind=Pod').length - 1, 10);
});

test('params are known only to a policy that has some, the authorizer to all', () => {
  const usesParams = validation('params.a == 1');
  assert.match(check([podRule], usesParams)[0] ?? '', /undeclared reference to 'params'/);
  assert.deepEqual(check([podRule], { ...usesParams, paramKind: { apiVersion: 'v1', kind: 'ConfigMap' } }), []);
  assert.deepEqual(check([podRule], validation("authorizer.path('/x').check('get').allowed()")), []);
});

test('the expression of a message is checked too', () => {
  assert.deepEqual(check([podRule], validation('true', 'object.metadata.name')), []);
  assert.match(
    check([podRule], validation('true', 'object.foo'))[0] ?? '',
    /^spec.validations\[0\].messageExpression: v1, Kind=Pod: .*undefined field 'foo'/,
  );
});

const limits = {
  ...{ group: 'shop.io', version: 'v1', kind: 'Limit', plural: 'limits' },
  custom: () => ({
    type: 'object',
    properties: {
      max: { type: 'integer' },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
      port: { 'x-kubernetes-int-or-string': true },
    },
  }),
};
const configMap = { ...configMaps, schema: ConfigMapSchema };

test('params have the type of their kind, custom kinds included', () => {
  const paramKind = { apiVersion: 'shop.io/v1', kind: 'Limit' };
  const ofLimits = (expression: string): readonly string[] =>
    check([podRule], { ...validation(expression), paramKind }, [...served, limits, configMap]);
  assert.match(ofLimits('params.nope == 1')[0] ?? '', /v1, Kind=Pod: ERROR: <input>:1:7: undefined field 'nope'/);
  assert.match(
    ofLimits("params.max == 'x'")[0] ?? '',
    /found no matching overload for '_==_' applied to '\(int, string\)'/,
  );
  assert.match(ofLimits('params.metadata.nope == 1')[0] ?? '', /undefined field 'nope'/);
  assert.deepEqual(ofLimits("params.max < 3 && params.port == 1 && params.metadata.labels['a'] == 'b'"), []);
});

test('params of a built-in kind have its type, and those of an unknown kind any', () => {
  const of = (kind: object): readonly string[] =>
    check([podRule], { ...validation("params.data['a'] == 1"), paramKind: kind }, [...served, configMap]);
  assert.match(of({ apiVersion: 'v1', kind: 'ConfigMap' })[0] ?? '', /applied to '\(string, int\)'/);
  assert.deepEqual(of({ apiVersion: 'v2', kind: 'ConfigMap' }), []);
  assert.deepEqual(of({ apiVersion: 'x.io/v1', kind: 'ConfigMap' }), []);
});

test('objects of custom kinds are checked too', () => {
  const rule: Rule = { apiGroups: ['shop.io'], apiVersions: ['v1'], resources: ['limits'] };
  assert.match(
    check([rule], validation('object.spec.a == 1'), [limits])[0] ?? '',
    /^spec.validations\[0\].expression: shop.io\/v1, Kind=Limit: ERROR: <input>:1:7: undefined field 'spec'/,
  );
});
