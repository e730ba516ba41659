import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type {
  ValidatingAdmissionPolicy,
  ValidatingAdmissionPolicyBinding,
} from '../../../api/admissionregistration/validating-admission-policy.ts';
import {
  configMaps,
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '../../../api/client/resource-types.ts';
import type { ConfigMap } from '../../../api/core/config-map.ts';
import type { AuthorizationAttributes } from '../../model/user-info.ts';
import type { Outcome } from '../testing/admission-fixture.ts';
import { AdmissionFixture, namespace } from '../testing/admission-fixture.ts';
import { namespaces } from '../../../api/client/resource-types.ts';
import { createValidatingPolicies } from './validating-policies.ts';

type Spec = ValidatingAdmissionPolicy['spec'];
type BindingSpec = ValidatingAdmissionPolicyBinding['spec'];

const everything: NonNullable<Spec['matchConstraints']> = {
  resourceRules: [{ operations: ['*'], apiGroups: ['*'], apiVersions: ['*'], resources: ['*'] }],
};

const configMap = (data: Record<string, string>, name = 'web', space = 'default'): ConfigMap => ({
  metadata: { name, namespace: space, uid: '' },
  data,
});

class Policies {
  readonly fixture = new AdmissionFixture();
  readonly asked: AuthorizationAttributes[] = [];
  readonly plugin = createValidatingPolicies({
    reader: this.fixture.reader,
    authorizer: {
      name: 'test',
      authorize: async (attributes) => {
        this.asked.push(attributes);
        return { decision: attributes.verb === 'get' ? 'allow' : 'noOpinion', reason: 'tested' };
      },
    },
    findKind: (apiVersion, kind) => (apiVersion === 'v1' && kind === 'ConfigMap' ? { type: configMaps } : undefined),
  });

  put(spec: Partial<Spec>, binding: Partial<BindingSpec> = {}, name = 'p'): void {
    const metadata = { name, namespace: '', uid: '' };
    this.fixture.reader.put(validatingAdmissionPolicies, {
      metadata,
      spec: { matchConstraints: everything, ...spec },
      status: {},
    });
    this.fixture.reader.put(validatingAdmissionPolicyBindings, {
      metadata: { name: `${name}-binding`, namespace: '', uid: '' },
      spec: { policyName: name, validationActions: ['Deny'], ...binding },
    });
  }

  write(object: ConfigMap, old?: ConfigMap): Promise<Outcome<ConfigMap>> {
    return this.fixture.write(this.plugin, configMaps, { object, old });
  }

  async refusal(object: ConfigMap, old?: ConfigMap): Promise<string> {
    return (await this.write(object, old)).refusal;
  }
}

const denied = (message: string, name = 'p'): string =>
  `configmaps "web" is forbidden: ValidatingAdmissionPolicy '${name}' with binding '${name}-binding' denied request: ${message}`;

describe('a validating admission policy', () => {
  it('refuses objects for which its expressions are false, with its message and reason', async () => {
    const policies = new Policies();
    policies.put({
      validations: [
        { expression: "object.data.a == 'b'", messageExpression: "'a is ' + object.data.a", reason: 'Forbidden' },
        { expression: "!('x' in object.data)", message: 'no x' },
        { expression: "!('y' in object.data)" },
      ],
    });
    assert.equal(await policies.refusal(configMap({ a: 'b' })), '');
    const { error } = await policies.write(configMap({ a: 'c' }));
    assert.deepEqual([error?.message, error?.code, error?.reason], [denied('a is c'), 403, 'Forbidden']);
    const second = await policies.write(configMap({ a: 'b', x: '' }));
    assert.deepEqual([second.refusal, second.error?.code], [denied('no x'), 422]);
    assert.equal(
      await policies.refusal(configMap({ a: 'b', y: '' })),
      denied("failed expression: !('y' in object.data)"),
    );
  });

  it('has no effect without a binding', async () => {
    const policies = new Policies();
    policies.put({ validations: [{ expression: 'false' }] }, { policyName: 'other' });
    assert.equal(await policies.refusal(configMap({})), '');
  });

  it('handles errors according to its failure policy', async () => {
    const policies = new Policies();
    const validations = [{ expression: 'object.data.nothing == 1' }];
    policies.put({ validations });
    const text = "expression 'object.data.nothing == 1' resulted in error: no such key: nothing";
    assert.equal(await policies.refusal(configMap({})), denied(text));
    policies.put({ validations, failurePolicy: 'Ignore' });
    assert.equal(await policies.refusal(configMap({})), '');
  });

  it('warns and audits as its binding says', async () => {
    const policies = new Policies();
    policies.put(
      { validations: [{ expression: 'false', message: 'never' }] },
      { validationActions: ['Warn', 'Audit'] },
    );
    const { refusal, warnings, annotations } = await policies.write(configMap({}));
    assert.deepEqual(
      [refusal, warnings],
      ['', ["Validation failed for ValidatingAdmissionPolicy 'p' with binding 'p-binding': never"]],
    );
    const key = 'validation.policy.admission.k8s.io/validation_failure';
    assert.deepEqual(JSON.parse(annotations[key] ?? ''), [
      { message: 'never', policy: 'p', binding: 'p-binding', expressionIndex: 0, validationActions: ['Warn', 'Audit'] },
    ]);
  });

  it('evaluates variables when they are used; each can use the earlier ones', async () => {
    const policies = new Policies();
    policies.put({
      variables: [
        { name: 'size', expression: 'object.data.size()' },
        { name: 'twice', expression: 'variables.size * 2' },
        { name: 'broken', expression: 'object.nothing' },
      ],
      validations: [
        { expression: 'variables.twice == 4' },
        { expression: 'variables.size != 3 || variables.broken == 1' },
      ],
    });
    assert.equal(await policies.refusal(configMap({ a: '', b: '' })), '');
    assert.match(await policies.refusal(configMap({ a: '' })), /failed expression: variables.twice == 4/);
  });

  it('reads the request, the namespace and the old object', async () => {
    const policies = new Policies();
    policies.fixture.reader.put(namespaces, namespace('team', { tier: 'gold' }));
    policies.put({
      validations: [
        { expression: "request.userInfo.username == 'jane' && 'devs' in request.userInfo.groups" },
        { expression: "request.resource.resource == 'configmaps' && request.namespace == 'team'" },
        { expression: "namespaceObject.metadata.labels['tier'] == 'gold' && namespaceObject.status.phase == 'Active'" },
        { expression: "request.operation == 'CREATE' ? oldObject == null : oldObject.data.a == '1'" },
        { expression: "object.metadata.name == 'web' && object.kind == 'ConfigMap'" },
      ],
    });
    assert.equal(await policies.refusal(configMap({}, 'web', 'team')), '');
    assert.equal(await policies.refusal(configMap({}, 'web', 'team'), configMap({ a: '1' }, 'web', 'team')), '');
    assert.match(await policies.refusal(configMap({}, 'web', 'team'), configMap({ a: '2' }, 'web', 'team')), /CREATE/);
  });

  it('asks the authorizer about the user and about service accounts', async () => {
    const policies = new Policies();
    policies.put({
      validations: [
        { expression: "authorizer.group('').resource('pods').namespace('n').check('get').allowed()" },
        { expression: "!authorizer.serviceAccount('n', 'sa').path('/x').check('post').allowed()" },
        { expression: "authorizer.requestResource.check('get').allowed()" },
      ],
    });
    assert.equal(await policies.refusal(configMap({})), '');
    assert.deepEqual(
      policies.asked.map(({ user, verb, resource, namespace: space, path }) => [
        user.name,
        verb,
        resource,
        space,
        path,
      ]),
      [
        ['jane', 'get', 'pods', 'n', ''],
        ['system:serviceaccount:n:sa', 'post', '', '', '/x'],
        ['jane', 'get', 'configmaps', 'default', ''],
      ],
    );
  });

  it('applies to requests that its rules, names and selectors match, and to no others', async () => {
    const policies = new Policies();
    const rules = everything.resourceRules ?? [];
    const validations = [{ expression: 'false', message: 'm' }];
    const taken = async (constraints: Spec['matchConstraints'], binding?: BindingSpec['matchResources']) => {
      policies.put({ validations, matchConstraints: constraints }, { matchResources: binding });
      return (await policies.refusal(configMap({}))) !== '';
    };
    assert.equal(await taken({ resourceRules: [{ ...rules[0], resourceNames: ['web'] }] }), true);
    assert.equal(await taken({ resourceRules: [{ ...rules[0], resourceNames: ['db'] }] }), false);
    assert.equal(
      await taken({ resourceRules: rules, excludeResourceRules: [{ ...rules[0], resources: ['configmaps'] }] }),
      false,
    );
    assert.equal(await taken({ resourceRules: rules, objectSelector: { matchLabels: { a: 'b' } } }), false);
    assert.equal(await taken({ resourceRules: rules, namespaceSelector: { matchLabels: { a: 'b' } } }), false);
    assert.equal(await taken(everything, { resourceRules: [{ ...rules[0], operations: ['DELETE'] }] }), false);
    assert.equal(await taken(everything, { objectSelector: {} }), true);
  });

  it('is not evaluated when one of its conditions is false', async () => {
    const policies = new Policies();
    const validations = [{ expression: 'false', message: 'm' }];
    policies.put({ validations, matchConditions: [{ name: 'a', expression: "object.metadata.name == 'db'" }] });
    assert.equal(await policies.refusal(configMap({})), '');
    policies.put({ validations, matchConditions: [{ name: 'a', expression: 'object.nothing == 1' }] });
    assert.match(await policies.refusal(configMap({})), /no such key: nothing/);
  });

  it('reads its parameters by name or by labels', async () => {
    const policies = new Policies();
    const paramKind = { apiVersion: 'v1', kind: 'ConfigMap' };
    const validations = [{ expression: 'object.data.size() <= int(params.data.most)', message: 'too many' }];
    policies.fixture.reader.put(
      configMaps,
      {
        ...configMap({ most: '1' }, 'limits'),
        metadata: { name: 'limits', namespace: 'default', uid: '', labels: { a: 'b' } },
      },
      {
        ...configMap({ most: '2' }, 'other'),
        metadata: { name: 'other', namespace: 'default', uid: '', labels: { a: 'b' } },
      },
    );
    policies.put({ paramKind, validations }, { paramRef: { name: 'other', parameterNotFoundAction: 'Deny' } });
    assert.equal(await policies.refusal(configMap({ a: '', b: '' })), '');
    policies.put(
      { paramKind, validations },
      { paramRef: { selector: { matchLabels: { a: 'b' } }, parameterNotFoundAction: 'Deny' } },
    );
    assert.equal(await policies.refusal(configMap({ a: '', b: '' })), denied('too many'));
    policies.put({ paramKind, validations }, { paramRef: { name: 'gone', parameterNotFoundAction: 'Deny' } });
    assert.match(
      await policies.refusal(configMap({})),
      /no params found for policy binding with `Deny` parameterNotFoundAction/,
    );
    policies.put({ paramKind, validations }, { paramRef: { name: 'gone', parameterNotFoundAction: 'Allow' } });
    assert.equal(await policies.refusal(configMap({ a: '', b: '' })), '');
  });

  it('annotates the audit event', async () => {
    const policies = new Policies();
    policies.put({
      validations: [],
      auditAnnotations: [
        { key: 'name', valueExpression: "'is ' + object.metadata.name" },
        { key: 'none', valueExpression: 'null' },
      ],
    });
    assert.deepEqual((await policies.write(configMap({}))).annotations, { 'p/name': 'is web' });
  });

  it('stops when it exceeds its cost limit', async () => {
    const policies = new Policies();
    const list = `[${Array.from({ length: 200 }, (_none, index) => index).join(',')}]`;
    policies.put({ validations: [{ expression: `${list}.all(a, ${list}.all(b, ${list}.all(c, a + b + c >= 0)))` }] });
    assert.match(await policies.refusal(configMap({})), /running out of cost budget/);
  });

  it('never judges policies', () => {
    const policies = new Policies();
    policies.put({ validations: [{ expression: 'false' }] });
    const policy = { metadata: { name: 'q', namespace: '', uid: '' }, spec: {} };
    const attributes = policies.fixture.attributes(validatingAdmissionPolicies, { object: policy });
    assert.equal(policies.plugin.handles(attributes), false);
  });
});
