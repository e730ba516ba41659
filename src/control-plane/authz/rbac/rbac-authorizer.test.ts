import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../../api/client/resource-types.ts';
import type { ClusterRoleBinding } from '../../../api/rbac/cluster-role-binding.ts';
import type { PolicyRule, Subject } from '../../../api/rbac/policy-rule.ts';
import type { RoleBinding } from '../../../api/rbac/role-binding.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from '../../model/user-info.ts';
import { podQuestion } from '../../model/testing/pod-question.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { parseRule } from './policy-rules.ts';
import { createRbacAuthorizer } from './rbac-authorizer.ts';
import { RoleGrants } from './role-grants.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const jane = { name: 'jane', groups: ['devs', 'system:authenticated'] };
const ask = (changes: Partial<AuthorizationAttributes> = {}): AuthorizationAttributes =>
  podQuestion(jane, { namespace: 'web', ...changes });
const meta = (name: string, namespace = ''): { name: string; namespace: string; uid: string } => ({
  name,
  namespace,
  uid: `uid-${name}`,
});
const clusterRole = (name: string, ...rules: string[]) => ({ metadata: meta(name), rules: rules.map(parseRule) });
const bindCluster = (name: string, role: string, ...subjects: Subject[]): ClusterRoleBinding => ({
  metadata: meta(name),
  roleRef: { apiGroup, kind: 'ClusterRole', name: role },
  subjects,
});
const bind = (name: string, kind: string, role: string, ...subjects: Subject[]): RoleBinding => ({
  metadata: meta(name, 'web'),
  roleRef: { apiGroup, kind, name: role },
  subjects,
});
const user = (name: string): Subject => ({ kind: 'User', apiGroup, name });
const group = (name: string): Subject => ({ kind: 'Group', apiGroup, name });

function setUp() {
  const reader = new FakeObjectReader();
  const authorizer = createRbacAuthorizer(new RoleGrants(reader));
  const decide = (changes?: Partial<AuthorizationAttributes>) =>
    authorizer.authorize(ask(changes)) as AuthorizationDecision;
  return {
    reader,
    authorizer,
    decide,
    allows: (changes?: Partial<AuthorizationAttributes>) => decide(changes).decision === 'allow',
  };
}

describe('RBAC', () => {
  it('allows what a rule of a bound role allows, and names the binding', () => {
    const { reader, decide } = setUp();
    reader.put(clusterRoles, clusterRole('view', 'read core pods'));
    reader.put(roleBindings, bind('readers', 'ClusterRole', 'view', group('ops'), group('devs')));
    assert.deepEqual(decide(), {
      decision: 'allow',
      reason: 'RBAC: allowed by RoleBinding "readers/web" of ClusterRole "view" to Group "devs"',
    });
    assert.deepEqual(decide({ namespace: 'other' }), { decision: 'noOpinion', reason: '' });
    assert.deepEqual(decide({ verb: 'delete' }), { decision: 'noOpinion', reason: '' });
    reader.put(clusterRoleBindings, bindCluster('all', 'view', user('jane')));
    assert.deepEqual(decide({ namespace: '' }), {
      decision: 'allow',
      reason: 'RBAC: allowed by ClusterRoleBinding "all" of ClusterRole "view" to User "jane"',
    });
  });

  it('identifies service accounts by the namespace of the subject or, in role bindings, of the binding', () => {
    const { reader, decide } = setUp();
    const robot = { name: 'system:serviceaccount:web:robot', groups: [] };
    reader.put(roles, { metadata: meta('r', 'web'), rules: [parseRule('get core pods')] });
    reader.put(roleBindings, bind('b', 'Role', 'r', { kind: 'ServiceAccount', name: 'robot' }));
    assert.equal(
      decide({ user: robot }).reason,
      'RBAC: allowed by RoleBinding "b/web" of Role "r" to ServiceAccount "robot/web"',
    );
    assert.equal(decide({ user: { ...robot, name: 'system:serviceaccount:other:robot' } }).decision, 'noOpinion');
    reader.put(clusterRoles, clusterRole('r', 'get core pods'));
    reader.put(clusterRoleBindings, bindCluster('c', 'r', { kind: 'ServiceAccount', name: 'robot' }));
    assert.equal(
      decide({ user: robot, namespace: 'other' }).decision,
      'noOpinion',
      'a cluster role binding has no namespace to fall back on',
    );
  });

  it('prefers the namespace of the subject to that of the binding, which only matters for service accounts', () => {
    const { reader, decide } = setUp();
    reader.put(clusterRoles, clusterRole('r', 'get core pods'));
    reader.put(
      roleBindings,
      bind('b', 'ClusterRole', 'r', { kind: 'ServiceAccount', name: 'one', namespace: 'far' }),
      bind('c', 'ClusterRole', 'r', { kind: 'ServiceAccount', name: 'two', namespace: '' }),
      bind('d', 'ClusterRole', 'r', { kind: 'Robot', name: 'three', namespace: 'far' }),
    );
    const reason = (namespace: string, name: string): string =>
      decide({ user: { name: `system:serviceaccount:${namespace}:${name}`, groups: [] } }).reason;
    assert.match(reason('far', 'one'), /to ServiceAccount "one\/far"$/);
    assert.match(reason('web', 'two'), /to ServiceAccount "two\/web"$/);
    assert.deepEqual([reason('web', 'one'), reason('far', 'two'), reason('far', 'three')], ['', '', '']);
  });

  it('finds a role of the namespace for a Role, and no role for an unknown kind', () => {
    const { reader, decide } = setUp();
    reader.put(clusterRoles, clusterRole('r', '* * *'));
    reader.put(roleBindings, bind('b', 'Other', 'r', user('jane')));
    assert.equal(decide().reason, 'RBAC: unsupported role reference kind: "Other"');
  });

  it('gets no events after it is closed', () => {
    const reader = new FakeObjectReader();
    new RoleGrants(reader).close();
    assert.equal(reader.listeners, 0);
  });

  it('names missing roles in the reason when nothing else allows the request', () => {
    const { reader, decide } = setUp();
    reader.put(roleBindings, bind('a', 'ClusterRole', 'gone', user('jane')), bind('b', 'Role', 'gone', user('jane')));
    assert.equal(
      decide().reason,
      'RBAC: [clusterrole.rbac.authorization.k8s.io "gone" not found, role.rbac.authorization.k8s.io "gone" not found]',
    );
    reader.put(clusterRoles, clusterRole('gone', '* * *'));
    assert.equal(decide().decision, 'allow');
  });

  it('follows changes of bindings and roles immediately', () => {
    const { reader, allows } = setUp();
    reader.put(clusterRoles, clusterRole('view', 'get core pods'));
    reader.put(roleBindings, bind('b', 'ClusterRole', 'view', user('jane')));
    assert.ok(allows());
    reader.put(roleBindings, bind('b', 'ClusterRole', 'view', user('joe')));
    assert.ok(!allows());
    reader.put(roleBindings, bind('b', 'ClusterRole', 'view', group('devs')));
    assert.ok(allows());
    reader.remove(roleBindings, { namespace: 'web', name: 'b' });
    assert.ok(!allows());
  });

  it('matches subresources, names, groups and paths as documented', () => {
    const cases: [rule: string, request: Partial<AuthorizationAttributes>, allowed: boolean][] = [
      ['get core pods', { subresource: 'log' }, false],
      ['get core pods/log', { subresource: 'log' }, true],
      ['get core pods/log', {}, false],
      ['get * */scale', { apiGroup: 'apps', resource: 'deployments', subresource: 'scale' }, true],
      ['get * */scale', { apiGroup: 'apps', resource: 'deployments' }, false],
      ['get core *', { subresource: 'exec' }, true],
      ['* * *', { verb: 'escalate', apiGroup, resource: 'roles' }, true],
      ['get core configmaps my-config', { resource: 'configmaps', name: 'my-config' }, true],
      ['get core configmaps my-config', { resource: 'configmaps', name: 'other' }, false],
      ['list core configmaps my-config', { resource: 'configmaps', verb: 'list' }, false],
      ['get apps deployments', { resource: 'deployments', apiGroup: 'apps' }, true],
      ['get apps deployments', { resource: 'deployments', apiGroup: 'extensions' }, false],
      ['get url /healthz,/healthz/*', { resourceRequest: false, path: '/healthz' }, true],
      ['get url /healthz,/healthz/*', { resourceRequest: false, path: '/healthz/etcd' }, true],
      ['get url /healthz,/healthz/*', { resourceRequest: false, path: '/healthzy' }, false],
      ['get url /a*b', { resourceRequest: false, path: '/acb' }, false],
      ['get url /a**', { resourceRequest: false, path: '/ab' }, true],
      ['get url /healthz', { resourceRequest: false, path: '/healthz', verb: 'post' }, false],
      ['* url *', { resourceRequest: false, path: '/anything', verb: 'post' }, true],
      ['* url *', {}, false],
      ['* * *', { resourceRequest: false, path: '/healthz' }, false],
    ];
    for (const [rule, request, allowed] of cases) {
      const { reader, allows } = setUp();
      reader.put(clusterRoles, clusterRole('r', rule));
      reader.put(clusterRoleBindings, bindCluster('b', 'r', user('jane')));
      assert.equal(allows(request), allowed, `${rule} ${JSON.stringify(request)}`);
    }
  });

  it('lists what a user may do, for kubectl auth can-i --list', async () => {
    const { reader, authorizer } = setUp();
    reader.put(clusterRoles, clusterRole('r', 'get core pods a', 'get url /healthz'));
    reader.put(
      clusterRoleBindings,
      bindCluster('b', 'r', user('jane'), group('devs')),
      bindCluster('c', 'gone', user('jane')),
    );
    assert.deepEqual(await authorizer.rulesFor?.(jane, 'web'), {
      resourceRules: [{ verbs: ['get'], apiGroups: [''], resources: ['pods'], resourceNames: ['a'] }],
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz'] }],
      incomplete: false,
      evaluationError: 'clusterrole.rbac.authorization.k8s.io "gone" not found',
    });
  });
});

const few = (...values: string[]) => fc.constantFrom(...values);
const list = (...values: string[]) => fc.uniqueArray(few(...values), { minLength: 1, maxLength: 2 });
const anyRule: fc.Arbitrary<PolicyRule> = fc.oneof(
  fc.record({
    verbs: list('get', 'list', '*'),
    apiGroups: list('', 'apps', '*'),
    resources: list('pods', 'pods/log', '*/scale', '*'),
    resourceNames: fc.option(list('a', 'b'), { nil: undefined }),
  }),
  fc.record({ verbs: list('get', '*'), nonResourceURLs: list('/a', '/a/*', '*') }),
);
const anySubject: fc.Arbitrary<Subject> = fc.oneof(
  few('jane', 'joe').map(user),
  few('devs', 'ops').map(group),
  fc.record({
    kind: few('ServiceAccount'),
    name: few('robot'),
    namespace: fc.option(few('web', 'db'), { nil: undefined }),
  }),
);
const anyBinding = fc.record({
  namespace: few('', 'web', 'db'),
  name: few('a', 'b', 'c'),
  kind: few('Role', 'ClusterRole'),
  role: few('r', 's'),
  subjects: fc.array(anySubject, { maxLength: 3 }),
  removed: fc.boolean(),
});
const anyRole = fc.record({
  namespace: few('', 'web', 'db'),
  name: few('r', 's'),
  rules: fc.array(anyRule, { maxLength: 3 }),
});
const anyRequest = fc.record({
  user: fc.record({
    name: few('jane', 'joe', 'system:serviceaccount:web:robot', 'system:serviceaccount:db:robot'),
    groups: fc.subarray(['devs', 'ops']),
  }),
  verb: few('get', 'list', 'delete'),
  resourceRequest: fc.boolean(),
  apiGroup: few('', 'apps'),
  resource: few('pods', 'nodes'),
  subresource: few('', 'log', 'scale'),
  namespace: few('', 'web', 'db'),
  name: few('', 'a', 'c'),
  path: few('/a', '/a/b', '/c'),
});

it('after any history, RBAC decides as a search of all bindings and rules does', () => {
  fc.assert(
    fc.property(fc.array(anyRole), fc.array(anyBinding), anyRequest, (someRoles, someBindings, request) => {
      const { reader, decide } = setUp();
      for (const { namespace, name, rules } of someRoles) {
        const role = { metadata: meta(name, namespace), rules };
        if (namespace === '') reader.put(clusterRoles, role);
        else reader.put(roles, role);
      }
      const left = new Map<string, (typeof someBindings)[number]>();
      for (const binding of someBindings) {
        const { namespace, name, kind, role, subjects, removed } = binding;
        const object = { metadata: meta(name, namespace), roleRef: { apiGroup, kind, name: role }, subjects };
        const type = namespace === '' ? clusterRoleBindings : roleBindings;
        reader.put(type, object);
        left.set(`${namespace}/${name}`, binding);
        if (!removed) continue;
        reader.remove(type, { namespace, name });
        left.delete(`${namespace}/${name}`);
      }
      const attributes = ask(request);
      const expected = [...left.values()].some((binding) => naivelyAllows(binding, reader, attributes));
      assert.equal(decide(request).decision === 'allow', expected);
    }),
    { numRuns: 1000 },
  );
});

/** Implements the words of upstream's documentation directly, as a reference. */
function naivelyAllows(
  binding: { namespace: string; kind: string; role: string; subjects: Subject[] },
  reader: FakeObjectReader,
  request: AuthorizationAttributes,
): boolean {
  if (binding.namespace !== '' && binding.namespace !== request.namespace) return false;
  const applies = binding.subjects.some(({ kind, name, namespace }) => {
    if (kind === 'User') return name === request.user.name;
    if (kind === 'Group') return request.user.groups.includes(name);
    return request.user.name === `system:serviceaccount:${namespace ?? binding.namespace}:${name}`;
  });
  if (!applies) return false;
  const role =
    binding.kind === 'Role'
      ? reader.get(roles, { namespace: binding.namespace, name: binding.role })
      : reader.get(clusterRoles, { namespace: '', name: binding.role });
  return (role?.rules ?? []).some((rule) => {
    if (!rule.verbs.some((verb) => verb === '*' || verb === request.verb)) return false;
    if (!request.resourceRequest)
      return (rule.nonResourceURLs ?? []).some(
        (url) => url === request.path || (url.endsWith('*') && request.path.startsWith(url.slice(0, -1))),
      );
    const whole = request.subresource === '' ? request.resource : `${request.resource}/${request.subresource}`;
    const names = rule.resourceNames ?? [];
    return (
      (rule.apiGroups ?? []).some((each) => each === '*' || each === request.apiGroup) &&
      (rule.resources ?? []).some(
        (each) => each === '*' || each === whole || (request.subresource !== '' && each === `*/${request.subresource}`),
      ) &&
      (names.length === 0 || names.includes(request.name))
    );
  });
}
