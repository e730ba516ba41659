import assert from 'node:assert/strict';
import test from 'node:test';
import type { ClusterRoleBinding } from '../../../api/rbac/cluster-role-binding.ts';
import type { ClusterRole } from '../../../api/rbac/cluster-role.ts';
import type { RoleBinding } from '../../../api/rbac/role-binding.ts';
import type { Role } from '../../../api/rbac/role.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { RulesFixture } from '../testing/rules-fixture.ts';

const group = 'rbac.authorization.k8s.io';
const version = `${group}/v1`;
const rules = [{ verbs: ['get'], apiGroups: [''], resources: ['pods'] }];
const subjects = [
  { kind: 'User', name: 'ann' },
  { kind: 'Group', name: 'ops' },
  { kind: 'ServiceAccount', name: 'bot', namespace: 'a' },
];
const roles = new RulesFixture<Role>(version, 'Role', { rules });
const clusterRoles = new RulesFixture<ClusterRole>(version, 'ClusterRole', { rules });
const bindings = new RulesFixture<RoleBinding>(version, 'RoleBinding', {
  subjects,
  roleRef: { kind: 'Role', name: 'view' },
});
const clusterBindings = new RulesFixture<ClusterRoleBinding>(version, 'ClusterRoleBinding', {
  subjects,
  roleRef: { kind: 'ClusterRole', name: 'view' },
});

test('roles and bindings are accepted under names that others may not have', () => {
  for (const fixture of [roles, clusterRoles, bindings, clusterBindings]) {
    assert.deepEqual(
      [
        fixture.refusals({ 'metadata.name': 'system:controller:x' }),
        fixture.updateRefusals({ 'metadata.labels': { a: 'b' } }),
      ],
      [[], []],
      fixture.definition.type.kind,
    );
    assert.deepEqual(
      [...new Set(fixture.refusals({ 'metadata.name': 'a/b' }))],
      ['metadata.name: Invalid value: "a/b": may not contain \'/\''],
    );
  }
});

test('users, groups and roles are of the group of the API unless they say otherwise', () => {
  const { subjects: given, roleRef } = bindings.created();
  assert.deepEqual([given?.map(({ apiGroup }) => apiGroup), roleRef.apiGroup], [[group, group, undefined], group]);
});

test('a rule must say what it gives', () => {
  const cases: readonly [RulesFixture, unknown, string[]][] = [
    [
      roles,
      {},
      [
        'rules[0].verbs: Required value: verbs must contain at least one value',
        'rules[0].apiGroups: Required value: resource rules must supply at least one api group',
        'rules[0].resources: Required value: resource rules must supply at least one resource',
      ],
    ],
    [
      roles,
      { verbs: ['get'], nonResourceURLs: ['/healthz'] },
      ['rules[0].nonResourceURLs: Invalid value: ["/healthz"]: namespaced rules cannot apply to non-resource URLs'],
    ],
    [clusterRoles, { verbs: ['get'], nonResourceURLs: ['/healthz'] }, []],
    [
      clusterRoles,
      { ...rules[0], nonResourceURLs: ['/x'] },
      [
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and non-resource URLs',
      ],
    ],
  ];
  for (const [fixture, rule, expected] of cases) assert.deepEqual(fixture.refusals({ 'rules[0]': rule }), expected);
  assert.deepEqual(clusterRoles.refusals({ aggregationRule: {} }), [
    'aggregationRule.clusterRoleSelectors: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil',
  ]);
});

test('a binding needs a role and subjects', () => {
  const refused = (fixture: RulesFixture, changes: Changes): string[] => fixture.refusals(changes);
  assert.deepEqual(refused(bindings, { roleRef: { kind: 'Pod', name: '', apiGroup: 'x' } }), [
    `roleRef.apiGroup: Unsupported value: "x": supported values: "${group}"`,
    'roleRef.kind: Unsupported value: "Pod": supported values: "Role", "ClusterRole"',
    'roleRef.name: Required value',
  ]);
  assert.deepEqual(refused(clusterBindings, { 'roleRef.kind': 'Role' }), [
    'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
  ]);
  assert.deepEqual(
    refused(clusterBindings, {
      subjects: [
        { kind: 'ServiceAccount', name: 'x' },
        { kind: 'Robot', name: 'r' },
      ],
    }),
    [
      'subjects[0].namespace: Required value',
      'subjects[1].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
    ],
  );
  assert.deepEqual(
    refused(bindings, {
      subjects: [
        { kind: 'ServiceAccount', name: 'x' },
        { kind: 'User', name: '' },
      ],
    }),
    ['subjects[1].name: Required value'],
  );
});

test('the role of a binding cannot be changed', () => {
  const expected = `roleRef: Invalid value: {"APIGroup":"${group}","Kind":"ClusterRole","Name":"admin"}: cannot change roleRef`;
  for (const fixture of [bindings, clusterBindings]) {
    assert.deepEqual(fixture.updateRefusals({ roleRef: { kind: 'ClusterRole', name: 'admin' } }), [expected]);
    assert.deepEqual(fixture.updateRefusals({ subjects: [] }), []);
  }
});

test('bindings are shown with role and subjects, roles with their time alone', () => {
  assert.deepEqual(bindings.cells(), {
    Role: 'Role/view',
    Age: '60m',
    Users: 'ann',
    Groups: 'ops',
    ServiceAccounts: 'a/bot',
  });
  assert.deepEqual([roles.definition.columns, clusterRoles.definition.columns], [undefined, undefined]);
});
