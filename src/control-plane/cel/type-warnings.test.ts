import assert from 'node:assert/strict';
import test from 'node:test';
import type { ValidatingAdmissionPolicy } from '../../api/admissionregistration/validating-admission-policy.ts';
import { DeploymentSchema } from '../../api/apps/deployment.ts';
import { deployments } from '../../api/client/resource-types.ts';
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
