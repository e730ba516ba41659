import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../../api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../../api/client/resource-type.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import type { AdmissionAttributes } from '../../model/admission.ts';
import type { Authorizer } from '../../model/user-info.ts';
import type { ResourceDefinition } from '../../model/resource-definition.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { parseRule } from './policy-rules.ts';
import { createRbacAuthorizer } from './rbac-authorizer.ts';
import { createRbacEscalationCheck } from './rbac-escalation.ts';
import { RoleGrants } from './role-grants.ts';

const apiGroup = 'rbac.authorization.k8s.io';
const meta = (name: string, namespace = ''): ApiObject['metadata'] => ({ name, namespace, uid: '' });
const rulesOf = (...rules: string[]) => rules.map(parseRule);

/** A cluster in which jane has `rules` in the namespace web. */
function setUp(...rules: string[]) {
  return setUpWith(undefined, ...rules);
}

function setUpWith(authorizer: Authorizer | undefined, ...rules: string[]) {
  const reader = new FakeObjectReader();
  const grants = new RoleGrants(reader);
  reader.put(roles, { metadata: meta('janes', 'web'), rules: rulesOf(...rules) });
  reader.put(roleBindings, {
    metadata: meta('janes', 'web'),
    roleRef: { apiGroup, kind: 'Role', name: 'janes' },
    subjects: [{ kind: 'User', name: 'jane' }],
  });
  const plugin = createRbacEscalationCheck(grants, authorizer ?? createRbacAuthorizer(grants));
  const write = async <T extends ApiObject>(
    type: ResourceType<T>,
    object: T,
    oldObject?: T,
    groups: readonly string[] = ['devs'],
  ): Promise<string> => {
    const { namespace, name } = object.metadata;
    const context = {
      user: { name: 'jane', groups },
      dryRun: false,
      fieldManager: '',
      fieldValidation: 'Strict',
      warn: () => {},
      annotate: () => {},
    } as const;
    const definition = { type } as unknown as ResourceDefinition;
    const attributes: AdmissionAttributes = {
      operation: oldObject === undefined ? 'CREATE' : 'UPDATE',
      definition,
      subresource: '',
      namespace,
      name,
      object,
      oldObject,
      options: {},
      context,
    };
    if (!plugin.handles(attributes)) return 'not handled';
    try {
      await plugin.validate?.(attributes);
      return 'allowed';
    } catch (error) {
      assert.ok(error instanceof ApiStatusError);
      return `${error.code} ${error.message}`;
    }
  };
  const role = (name: string, ...some: string[]) => ({ metadata: meta(name, 'web'), rules: rulesOf(...some) });
  const binding = (kind: string, name: string) => ({
    metadata: meta('b', 'web'),
    roleRef: { apiGroup, kind, name },
    subjects: [],
  });
  return { reader, plugin, write, role, binding };
}

describe('the check', () => {
  const { plugin } = setUp();
  const handles = (type: ResourceType, operation: string, subresource = ''): boolean =>
    plugin.handles({ operation, subresource, definition: { type } } as AdmissionAttributes);

  it('is made for creations and updates of the four kinds, and no other requests', () => {
    for (const type of [roles, clusterRoles, roleBindings, clusterRoleBindings]) {
      assert.deepEqual(
        ['CREATE', 'UPDATE', 'DELETE', 'CONNECT'].map((operation) => handles(type, operation)),
        [true, true, false, false],
      );
      assert.equal(handles(type, 'UPDATE', 'status'), false);
      assert.equal(handles({ ...type, group: 'example.com' }, 'CREATE'), false, 'a kind of the same name');
    }
    assert.equal(handles({ ...roles, plural: 'others' }, 'CREATE'), false);
  });
});

describe('escalation', () => {
  it('rejects a role that grants more than its author has', async () => {
    const { write, role } = setUp('get,list core pods', 'get core secrets a');
    assert.equal(await write(roles, role('r', 'get core pods', 'get core secrets a')), 'allowed');
    assert.equal(
      await write(roles, role('r', 'get,delete,patch core pods', 'get core secrets', 'get url /x')),
      [
        '403 roles.rbac.authorization.k8s.io "r" is forbidden: user "jane" (groups=["devs"]) is attempting to grant RBAC permissions not currently held:',
        '{APIGroups:[""], Resources:["pods"], Verbs:["delete" "patch"]}',
        '{APIGroups:[""], Resources:["secrets"], Verbs:["get"]}',
        '{NonResourceURLs:["/x"], Verbs:["get"]}',
      ].join('\n'),
    );
    assert.match(
      await write(clusterRoles, { metadata: meta('r'), rules: rulesOf('get core pods') }),
      /^403/,
      'rights in a namespace are none in the cluster',
    );
  });

  it('allows users with the right to escalate or bind, also for single roles by name', async () => {
    const escalate = setUp('escalate rbac.authorization.k8s.io roles known');
    const { role } = escalate;
    assert.equal(await escalate.write(roles, role('known', 'get core secrets'), role('known')), 'allowed');
    assert.match(
      await escalate.write(roles, role('known', 'get core secrets')),
      /^403/,
      'a creation has no name to allow it by',
    );
    const bind = setUp('bind rbac.authorization.k8s.io clusterroles known');
    bind.reader.put(
      clusterRoles,
      { metadata: meta('known'), rules: rulesOf('get core secrets') },
      { metadata: meta('other'), rules: rulesOf('get core secrets') },
    );
    assert.equal(await bind.write(roleBindings, bind.binding('ClusterRole', 'known')), 'allowed');
    assert.match(await bind.write(roleBindings, bind.binding('ClusterRole', 'other')), /^403 rolebindings/);
  });

  it('allows binding a role to users who have all of its rights, and reports a missing role', async () => {
    const { reader, write, binding } = setUp('get core pods');
    reader.put(
      clusterRoles,
      { metadata: meta('small'), rules: rulesOf('get core pods') },
      { metadata: meta('big'), rules: rulesOf('* * *') },
    );
    assert.equal(await write(roleBindings, binding('ClusterRole', 'small')), 'allowed');
    assert.match(
      await write(roleBindings, binding('ClusterRole', 'big')),
      /\{APIGroups:\["\*"\], Resources:\["\*"\], Verbs:\["\*"\]\}$/,
    );
    assert.equal(
      await write(roleBindings, binding('Role', 'none')),
      '404 roles.rbac.authorization.k8s.io "none" not found',
    );
    assert.match(
      await write(clusterRoleBindings, { ...binding('ClusterRole', 'small'), metadata: meta('b') }),
      /^403 clusterrolebindings/,
    );
  });

  it('allows aggregation only to users with all rights', async () => {
    const { write } = setUp();
    const object = {
      metadata: meta('r'),
      rules: [],
      aggregationRule: { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] },
    };
    assert.equal(
      await write(clusterRoles, object),
      '403 clusterroles.rbac.authorization.k8s.io "r" is forbidden: must have cluster-admin privileges to use the aggregationRule',
    );
    assert.match(
      await write(clusterRoles, { metadata: meta('r'), rules: [] }, object),
      /^403/,
      'nor may it be taken away',
    );
    assert.equal(await write(clusterRoles, object, undefined, ['system:masters']), 'allowed');
    const { aggregationRule: _, ...plain } = object;
    assert.equal(await write(clusterRoles, plain), 'allowed', 'a role without rules grants nothing');
  });

  for (const [rules, answer] of [
    [['* * *', '* url *'], 'allowed'],
    [['* * *'], '403'],
    [['* url *'], '403'],
    [['get,list * *', '* url *'], '403'],
    [['* core,apps *', '* url *'], '403'],
    [['* * pods,nodes', '* url *'], '403'],
    [['* * *', 'get url *'], '403'],
    [['* * *', '* url /healthz'], '403'],
  ] as const)
    it(`answers ${answer} to an aggregation by who has ${rules.join(' and ')} in the cluster`, async () => {
      // RBAC would let some of them escalate. Here only their permissions count.
      const { reader, write } = setUpWith({ name: 'none', authorize: () => ({ decision: 'noOpinion', reason: '' }) });
      reader.put(clusterRoles, { metadata: meta('wide'), rules: rulesOf(...rules) });
      reader.put(clusterRoleBindings, {
        metadata: meta('wide'),
        roleRef: { apiGroup, kind: 'ClusterRole', name: 'wide' },
        subjects: [{ kind: 'Group', name: 'devs' }],
      });
      const aggregationRule = { clusterRoleSelectors: [{ matchLabels: { a: 'b' } }] };
      const result = await write(clusterRoles, { metadata: meta('r'), rules: [], aggregationRule });
      assert.equal(result.slice(0, answer.length), answer);
    });

  it('allows binding a role to users who may write it in its namespace, by its kind', async () => {
    const { reader, write, binding } = setUp('get core pods');
    reader.put(roles, { metadata: meta('r', 'web'), rules: rulesOf('get core pods') });
    reader.put(clusterRoles, { metadata: meta('r'), rules: rulesOf('* * *') });
    assert.equal(await write(roleBindings, binding('Role', 'r')), 'allowed');
    assert.match(await write(roleBindings, binding('ClusterRole', 'r')), /^403/);
    assert.equal(await write(roleBindings, binding('Group', 'r')), '500 unsupported role reference kind: "Group"');
  });

  it('names roles that were not found, because they may be the reason', async () => {
    const { reader, write, role } = setUp('get core pods');
    reader.put(roleBindings, {
      metadata: meta('lost', 'web'),
      roleRef: { apiGroup, kind: 'Role', name: 'lost' },
      subjects: [{ kind: 'User', name: 'jane' }],
    });
    assert.match(
      await write(roles, role('r', 'get core secrets')),
      /Verbs:\["get"\]\}; resolution errors: \[role.rbac.authorization.k8s.io "lost" not found\]$/,
    );
  });

  it('lists up to a thousand missing rights', async () => {
    const { write, role } = setUp();
    const names = Array.from({ length: 1001 }, (_, index) => `r${index}`).join();
    const lines = (await write(roles, role('r', `get core ${names}`))).split('\n');
    assert.deepEqual([lines.length, lines.at(-1)], [1002, 'and more']);
  });

  it('lets the garbage collector remove finalizers and owners from roles that it could not write', async () => {
    const { write, role } = setUp();
    const old = role('r', '* * *');
    assert.equal(
      await write(
        roles,
        { ...old, metadata: { ...old.metadata, resourceVersion: '7', finalizers: [] } },
        { ...old, metadata: { ...old.metadata, finalizers: ['x/y'] } },
      ),
      'allowed',
    );
    assert.match(await write(roles, { ...old, metadata: { ...old.metadata, labels: { a: 'b' } } }, old), /^403/);
  });
});
