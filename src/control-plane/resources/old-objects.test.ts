import assert from 'node:assert/strict';
import test from 'node:test';
import { permissivePolicy } from '../../api/validation/cluster-policy.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { RulesFixture } from './testing/rules-fixture.ts';

const odd = { matchExpressions: [{ key: 'app', operator: 'In', values: ['-no-label-'] }] };
const badValue = /a valid label must be an empty string or consist of/;
const webhook = {
  name: 'check.example.com',
  clientConfig: { url: 'https://127.0.0.1:9/check' },
  admissionReviewVersions: ['v1'],
  sideEffects: 'None',
  rules: [{ operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] }],
};

const budgets = new RulesFixture('policy/v1', 'PodDisruptionBudget', {
  spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
});
const roles = new RulesFixture('rbac.authorization.k8s.io/v1', 'ClusterRole', {
  rules: [],
  aggregationRule: { clusterRoleSelectors: [{ matchLabels: { app: 'web' } }] },
});
const claims = new RulesFixture('v1', 'PersistentVolumeClaim', {
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});
const volumes = new RulesFixture('v1', 'PersistentVolume', {
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/mnt' } },
});
const mutating = new RulesFixture('admissionregistration.k8s.io/v1', 'MutatingWebhookConfiguration', {
  webhooks: [webhook],
});
const validating = new RulesFixture('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', {
  webhooks: [webhook],
});
const touched = { 'metadata.labels': { touched: 'yes' } };

const source = { apiGroup: 'No_Group', kind: 'Thing', name: 'thing' };
const cases: readonly (readonly [string, RulesFixture, Changes, RegExp])[] = [
  ['a selector of a disruption budget', budgets, { 'spec.selector': odd }, badValue],
  ['a selector of an aggregated role', roles, { 'aggregationRule.clusterRoleSelectors[0]': odd }, badValue],
  ['a selector of a claim', claims, { 'spec.selector': odd }, badValue],
  [
    'the group of what a claim is made from',
    claims,
    { 'spec.dataSource': source, 'spec.dataSourceRef': source },
    /apiGroup: Invalid value: "No_Group"/,
  ],
  [
    'the node affinity of a volume',
    volumes,
    { 'spec.nodeAffinity': { required: { nodeSelectorTerms: [odd] } } },
    badValue,
  ],
  ...[mutating, validating].flatMap((fixture): [string, RulesFixture, Changes, RegExp][] => [
    ['a selector of a webhook', fixture, { 'webhooks[0].objectSelector': odd }, badValue],
    [
      'side effects of a webhook',
      fixture,
      { 'webhooks[0].sideEffects': 'Some' },
      /sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"/,
    ],
    [
      'versions of reviews of a webhook',
      fixture,
      { 'webhooks[0].admissionReviewVersions': ['v0'] },
      /must include at least one of v1, v1beta1/,
    ],
    ['names of webhooks', fixture, { webhooks: [webhook, webhook] }, /webhooks\[1\]\.name: Duplicate value/],
    [
      'conditions of a webhook',
      fixture,
      { 'webhooks[0].matchConditions': [{ name: 'x', expression: 'nothing' }] },
      /matchConditions\[0\].expression: Invalid value/,
    ],
  ]),
];

for (const [what, fixture, fault, refusal] of cases) {
  test(`${what} (${fixture.definition.type.kind}) is refused when it is new, and stays as an older version let it in`, () => {
    assert.match(fixture.refusals(fault).join('\n'), refusal);
    assert.deepEqual(fixture.updateRefusals(touched, fault), []);
    assert.match(fixture.updateRefusals(fault).join('\n'), refusal);
  });
}

test('other webhooks may not join in when one has no conditions that were there', () => {
  const before = { 'webhooks[0].matchConditions': [{ name: 'x', expression: 'nothing' }] };
  const next = { 'webhooks[0].matchConditions': [{ name: 'x', expression: 'other' }] };
  assert.match(mutating.updateRefusals(next, before).join('\n'), /matchConditions\[0\].expression: Invalid value/);
});

test('a namespace that is held by a name of old can be written; what holds it is checked when that changes', () => {
  const namespaces = new RulesFixture('v1', 'Namespace', {});
  const held = { 'spec.finalizers': ['nameless'] };
  assert.deepEqual(namespaces.refusals(held), [
    'spec.finalizers: Invalid value: "nameless": name is neither a standard finalizer name nor is it fully qualified',
  ]);
  assert.deepEqual(namespaces.updateRefusals(touched, held), []);
  const finalize = namespaces.definition.views?.[0];
  const old = namespaces.created(held);
  assert.equal(finalize?.validate(old, old, permissivePolicy).length, 1);
});

test('a driver whose name would be refused today can be written', () => {
  const drivers = new RulesFixture('storage.k8s.io/v1', 'CSIDriver', { spec: { attachRequired: false } });
  const named = { 'metadata.name': 'No_Name' };
  assert.equal(drivers.refusals(named).length > 0, true);
  assert.deepEqual(drivers.updateRefusals(touched, named), []);
});
