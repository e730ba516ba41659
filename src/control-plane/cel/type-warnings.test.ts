import assert from 'node:assert/strict';
import test from 'node:test';
import type { ValidatingAdmissionPolicy } from '../../api/admissionregistration/validating-admission-policy.ts';
import { DeploymentSchema } from '../../api/apps/deployment.ts';
import { deployments, pods } from '../../api/client/resource-types.ts';
import { PodSchema } from '../../api/core/pod.ts';
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

function check(rules: readonly Rule[] | undefined, spec: object, known = served): readonly string[] {
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
