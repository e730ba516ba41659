import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeApiClient } from '../../../../api/client/testing/fake-api-client.ts';
import { clusterRoleBindings, clusterRoles, roleBindings, roles } from '../../../../api/client/resource-types.ts';
import type { ClusterRole } from '../../../../api/rbac/cluster-role.ts';
import { ApiStatusError } from '../../../../api/status/api-status-error.ts';
import { silentLogger } from '../../../../base/log.ts';
import { FakeClock } from '../../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../../base/testing/recording-log.ts';
import { parseRule } from '../policy-rules.ts';
import { missingRules } from '../rule-coverage.ts';
import { defaultPolicy } from './default-policy.ts';
import { ensureDefaultPolicy } from './ensure-policy.ts';
import { reconcileBinding, reconcileRole } from './reconcile-policy.ts';

const cluster = (name: string): { namespace: string; name: string } => ({ namespace: '', name });
const setUp = () => new FakeApiClient({ clock: new FakeClock() });
const writes = (client: FakeApiClient): number =>
  client.calls.filter(({ verb }) => verb !== 'get' && verb !== 'list').length;
const role = (name: string, ...rules: string[]): ClusterRole => ({
  metadata: { name, namespace: '', uid: '' },
  rules: rules.map(parseRule),
});

describe('the default policy', () => {
  it('binds only existing roles', () => {
    const policy = defaultPolicy();
    const names = new Set(policy.clusterRoles.map(({ metadata }) => metadata.name));
    assert.deepEqual(
      policy.clusterRoleBindings.filter(({ roleRef }) => !names.has(roleRef.name)),
      [],
    );
    const namespaced = new Set(policy.roles.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`));
    assert.deepEqual(
      policy.roleBindings.filter(({ metadata, roleRef }) => !namespaced.has(`${metadata.namespace}/${roleRef.name}`)),
      [],
    );
    assert.equal(names.size, policy.clusterRoles.length);
  });

  it("has upstream's roles, verbs and subjects", () => {
    const policy = defaultPolicy();
    const find = (name: string): ClusterRole | undefined =>
      policy.clusterRoles.find(({ metadata }) => metadata.name === name);
    assert.deepEqual(find('cluster-admin')?.rules, [
      { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
      { verbs: ['*'], nonResourceURLs: ['*'] },
    ]);
    assert.deepEqual(find('system:basic-user')?.rules[0], {
      verbs: ['create'],
      apiGroups: ['authorization.k8s.io'],
      resources: ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'],
    });
    assert.deepEqual(find('edit'), {
      apiVersion: 'rbac.authorization.k8s.io/v1',
      kind: 'ClusterRole',
      metadata: {
        name: 'edit',
        namespace: '',
        uid: '',
        labels: {
          'kubernetes.io/bootstrapping': 'rbac-defaults',
          'rbac.authorization.k8s.io/aggregate-to-admin': 'true',
        },
        annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
      },
      aggregationRule: {
        clusterRoleSelectors: [{ matchLabels: { 'rbac.authorization.k8s.io/aggregate-to-edit': 'true' } }],
      },
      rules: [],
    });
    assert.deepEqual(
      policy.clusterRoleBindings.find(({ metadata }) => metadata.name === 'system:controller:job-controller')?.subjects,
      [{ kind: 'ServiceAccount', name: 'job-controller', namespace: 'kube-system' }],
    );
    assert.equal(
      policy.clusterRoleBindings.find(({ metadata }) => metadata.name === 'system:node')?.subjects,
      undefined,
    );
    assert.deepEqual(policy.roleBindings.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`).sort(), [
      'kube-public/kubeadm:bootstrap-signer-clusterinfo',
      'kube-public/system:controller:bootstrap-signer',
      'kube-system/kubeadm:kubelet-config',
      'kube-system/kubeadm:nodes-kubeadm-config',
      'kube-system/system::extension-apiserver-authentication-reader',
      'kube-system/system::leader-locking-kube-controller-manager',
      'kube-system/system::leader-locking-kube-scheduler',
      'kube-system/system:controller:bootstrap-signer',
      'kube-system/system:controller:cloud-provider',
      'kube-system/system:controller:token-cleaner',
    ]);
  });

  it('leaves the role of metrics-server to its manifest, and lets readers of namespaces read metrics', () => {
    const { clusterRoles: all } = defaultPolicy();
    const named = (name: string): ClusterRole | undefined => all.find(({ metadata }) => metadata.name === name);
    assert.equal(named('system:aggregated-metrics-reader'), undefined);
    const reader = named('system:kubelet-ts:metrics-reader');
    assert.deepEqual(reader?.rules, [
      { verbs: ['get', 'list', 'watch'], apiGroups: ['metrics.k8s.io'], resources: ['nodes', 'pods'] },
    ]);
    assert.equal(reader?.metadata.labels?.['rbac.authorization.k8s.io/aggregate-to-view'], 'true');
  });

  it('lets unauthenticated users read only health and version', () => {
    const open = defaultPolicy().clusterRoleBindings.filter(({ subjects }) =>
      (subjects ?? []).some(({ name }) => name === 'system:unauthenticated'),
    );
    assert.deepEqual(
      open.map(({ metadata }) => metadata.name),
      ['system:public-info-viewer'],
    );
  });
});

describe('reconciling', () => {
  it('adds missing rules and keeps those that an administrator added', () => {
    const expected: ClusterRole = {
      ...role('a', 'get,list core pods'),
      metadata: { name: 'a', namespace: '', uid: '', labels: { x: '1' } },
    };
    const mine: ClusterRole = {
      ...role('a', 'get core pods', 'get core secrets'),
      metadata: { name: 'a', namespace: '', uid: 'u', labels: { x: 'mine', y: '2' } },
    };
    const step = reconcileRole(mine, expected);
    assert.ok(step.kind === 'update');
    assert.deepEqual(step.object.rules, [...mine.rules, { verbs: ['list'], apiGroups: [''], resources: ['pods'] }]);
    assert.deepEqual(step.object.metadata.labels, { x: 'mine', y: '2' });
    assert.deepEqual(missingRules(step.object.rules, expected.rules).rules, []);
    assert.deepEqual(reconcileRole(step.object, expected), { kind: 'none' });
  });

  it('does not change objects with the annotation that disables updates', () => {
    const left: ClusterRole = {
      ...role('a'),
      metadata: {
        name: 'a',
        namespace: '',
        uid: '',
        annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'false' },
      },
    };
    assert.deepEqual(reconcileRole(left, role('a', 'get core pods')), { kind: 'none' });
  });

  it('recreates a binding to another role, because the role of a binding cannot be changed', () => {
    const [expected] = defaultPolicy().clusterRoleBindings;
    assert.ok(expected !== undefined);
    assert.equal(
      reconcileBinding({ ...expected, roleRef: { ...expected.roleRef, name: 'other' } }, expected).kind,
      'recreate',
    );
    assert.equal(reconcileBinding({ ...expected, subjects: [] }, expected).kind, 'update');
    assert.equal(reconcileBinding(expected, expected).kind, 'none');
  });
});

describe('ensuring the default policy', () => {
  it('fills an empty cluster, and writes nothing when all objects exist', async () => {
    const client = setUp();
    await ensureDefaultPolicy(client, silentLogger);
    const policy = defaultPolicy();
    const count = async (
      type: typeof clusterRoles | typeof clusterRoleBindings | typeof roles | typeof roleBindings,
    ): Promise<number> => (await client.list(type as typeof clusterRoles, '')).items.length;
    assert.deepEqual(await Promise.all([clusterRoles, clusterRoleBindings, roles, roleBindings].map(count)), [
      policy.clusterRoles.length,
      policy.clusterRoleBindings.length,
      policy.roles.length,
      policy.roleBindings.length,
    ]);
    const before = writes(client);
    await ensureDefaultPolicy(client, silentLogger);
    assert.equal(writes(client) - before, 2, 'only the two namespaces are tried');
  });

  it('restores removed rules, and recreates bindings to other roles', async () => {
    const client = setUp();
    await ensureDefaultPolicy(client, silentLogger);
    const admin = await client.get(clusterRoleBindings, cluster('cluster-admin'));
    await client.delete(clusterRoleBindings, cluster('cluster-admin'));
    await client.create(clusterRoleBindings, {
      ...admin,
      metadata: { name: 'cluster-admin', namespace: '', uid: '' },
      roleRef: { ...admin.roleRef, name: 'view' },
    });
    const viewer = await client.get(clusterRoles, cluster('system:discovery'));
    await client.update(clusterRoles, { ...viewer, rules: [] });
    await ensureDefaultPolicy(client, silentLogger);
    assert.equal((await client.get(clusterRoleBindings, cluster('cluster-admin'))).roleRef.name, 'cluster-admin');
    assert.deepEqual(
      missingRules((await client.get(clusterRoles, cluster('system:discovery'))).rules, viewer.rules).rules,
      [],
    );
  });

  it('tries all objects before it reports a failure', async () => {
    const client = setUp();
    const log = recordingLog();
    client.script((call) =>
      call.verb === 'create' && call.key === 'system:discovery'
        ? new ApiStatusError('ServiceUnavailable', 'not now')
        : undefined,
    );
    await assert.rejects(ensureDefaultPolicy(client, log), /not now/);
    assert.ok(log.lines.some(({ fields }) => fields['name'] === 'system:discovery'));
    assert.equal((await client.get(clusterRoles, cluster('view'))).metadata.name, 'view');
  });

  it('moves rules that an administrator added to admin in an old cluster', async () => {
    const client = setUp();
    await client.create(clusterRoles, role('admin', 'get example.com widgets'));
    await ensureDefaultPolicy(client, silentLogger);
    const kept = await client.get(clusterRoles, cluster('system:aggregate-to-admin'));
    assert.deepEqual(kept.rules[0]?.apiGroups, ['example.com']);
    assert.equal(kept.metadata.labels?.['rbac.authorization.k8s.io/aggregate-to-admin'], 'true');
    assert.ok((await client.get(clusterRoles, cluster('admin'))).aggregationRule !== undefined);
  });
});
