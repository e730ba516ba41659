// The tables of roles are long, and a rule that is missing shows only when a controller fails. This compares all of them
// with what upstream grants, in another form.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, it } from 'node:test';
import type { PolicyRule } from '../../../../api/rbac/policy-rule.ts';
import type { ControlPlaneGate } from '../../../model/control-plane-gates.ts';
import { defaultPolicy, nodeRules } from './default-policy.ts';
import type { RbacPolicy } from './default-policy.ts';

const AGGREGATE = 'rbac.authorization.k8s.io/aggregate-to-';

/** Returns the targets of a rule: `pods/log`, `deployments.apps`, `configmaps=name`, `/healthz`. */
function targetsOf({
  apiGroups = [],
  resources = [],
  resourceNames = [''],
  nonResourceURLs = [],
}: PolicyRule): string[] {
  const named = (group: string, resource: string, name: string): string =>
    `${resource}${group === '' ? '' : `.${group}`}${name === '' ? '' : `=${name}`}`;
  return [
    ...nonResourceURLs,
    ...apiGroups.flatMap((group) =>
      resources.flatMap((resource) => resourceNames.map((name) => named(group, resource, name))),
    ),
  ];
}

/** Returns `get list: pods secrets` for each set of verbs. */
function grantsOf(rules: readonly PolicyRule[]): string[] {
  const verbsByTarget = new Map<string, Set<string>>();
  for (const rule of rules)
    for (const target of targetsOf(rule)) {
      const verbs = verbsByTarget.get(target) ?? new Set();
      for (const verb of rule.verbs) verbs.add(verb);
      verbsByTarget.set(target, verbs);
    }
  const targetsByVerbs = Map.groupBy(verbsByTarget.keys(), (target) =>
    [...(verbsByTarget.get(target) ?? [])].sort().join(' '),
  );
  return [...targetsByVerbs].map(([verbs, targets]) => `  ${verbs}: ${targets.sort().join(' ')}`).sort();
}

const aggregates = (labels: Readonly<Record<string, string>> = {}): string =>
  Object.entries(labels)
    .flatMap(([label, value]) =>
      label.startsWith(AGGREGATE) && value === 'true' ? [label.slice(AGGREGATE.length)] : [],
    )
    .sort()
    .join(' ');
const after = (word: string, names: string): string => (names === '' ? '' : ` ${word} ${names}`);

/** The lines of each role or binding, by its first line. */
function shown({ clusterRoles, roles, clusterRoleBindings, roleBindings }: RbacPolicy): ReadonlyMap<string, string[]> {
  const headOf = (kind: string, { namespace, name }: { namespace: string; name: string }): string =>
    `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`;
  const found = new Map<string, string[]>();
  for (const { metadata, rules, aggregationRule } of clusterRoles) {
    const { clusterRoleSelectors = [] } = aggregationRule ?? {};
    const gathers = clusterRoleSelectors.map(({ matchLabels }) => aggregates(matchLabels)).join(' ');
    const marks = after('part-of', aggregates(metadata.labels)) + after('gathers', gathers);
    found.set(headOf('ClusterRole', metadata) + marks, grantsOf(rules));
  }
  for (const { metadata, rules } of roles) found.set(headOf('Role', metadata), grantsOf(rules));
  for (const { kind = '', metadata, roleRef, subjects = [] } of [...clusterRoleBindings, ...roleBindings]) {
    const bound = subjects.map(
      (each) => `${each.kind} ${each.namespace === undefined ? '' : `${each.namespace}/`}${each.name}`,
    );
    found.set(headOf(kind, metadata), [`  ${roleRef.kind} ${roleRef.name}: ${bound.sort().join(', ')}`.trimEnd()]);
  }
  return found;
}

function upstream(): ReadonlyMap<string, readonly string[]> {
  const text = readFileSync(path.join(import.meta.dirname, 'testing/upstream-policy.txt'), 'utf8');
  const found = new Map<string, string[]>();
  let below: string[] = [];
  for (const line of text.split('\n')) {
    if (line === '' || line.startsWith('#')) continue;
    if (line.startsWith(' ')) below.push(line);
    else found.set(line, (below = []));
  }
  for (const lines of found.values()) lines.sort();
  return found;
}
const theirs = upstream();

/** Returns what the policy has in addition to upstream's. */
function beside(gates: readonly ControlPlaneGate[] = []): Record<string, readonly string[]> {
  return Object.fromEntries(
    [...shown(defaultPolicy(new Set(gates)))].filter(([head, lines]) => theirs.get(head)?.join() !== lines.join()),
  );
}

describe('the default policy', () => {
  it("grants and binds the same as upstream's", () => {
    const ours = shown(defaultPolicy());
    assert.ok(theirs.size > 120, `${theirs.size} roles and bindings: the file has another form`);
    for (const [head, lines] of theirs) assert.deepEqual(ours.get(head), lines, head);
  });

  it("has kubeadm's additions, and few of our own", () => {
    const joining = 'Group system:bootstrappers:kubeadm:default-node-token';
    const certificates = 'system:certificates.k8s.io:certificatesigningrequests';
    assert.deepEqual(beside(), {
      'ClusterRole kubeadm:get-nodes': ['  get: nodes'],
      'ClusterRole system:kubelet-ts:metrics-reader part-of admin edit view': [
        '  get list watch: nodes.metrics.k8s.io pods.metrics.k8s.io',
      ],
      'ClusterRole system:controller:kubelet-serving-approver': [
        '  approve: signers.certificates.k8s.io=kubernetes.io/kubelet-serving',
        '  get list watch: certificatesigningrequests.certificates.k8s.io',
        '  get: nodes',
        '  update: certificatesigningrequests/approval.certificates.k8s.io',
      ],
      'Role kube-public/kubeadm:bootstrap-signer-clusterinfo': ['  get: configmaps=cluster-info'],
      'Role kube-system/kubeadm:nodes-kubeadm-config': ['  get: configmaps=kubeadm-config'],
      'Role kube-system/kubeadm:kubelet-config': ['  get: configmaps=kubelet-config'],
      'ClusterRoleBinding system:controller:kubelet-serving-approver': [
        '  ClusterRole system:controller:kubelet-serving-approver: ServiceAccount kube-system/kubelet-serving-approver',
      ],
      'ClusterRoleBinding kubeadm:cluster-admins': ['  ClusterRole cluster-admin: Group kubeadm:cluster-admins'],
      'ClusterRoleBinding kubeadm:kubelet-bootstrap': [`  ClusterRole system:node-bootstrapper: ${joining}`],
      'ClusterRoleBinding kubeadm:get-nodes': [`  ClusterRole kubeadm:get-nodes: ${joining}`],
      'ClusterRoleBinding kubeadm:node-autoapprove-bootstrap': [`  ClusterRole ${certificates}:nodeclient: ${joining}`],
      'ClusterRoleBinding kubeadm:node-autoapprove-certificate-rotation': [
        `  ClusterRole ${certificates}:selfnodeclient: Group system:nodes`,
      ],
      'RoleBinding kube-public/kubeadm:bootstrap-signer-clusterinfo': [
        '  Role kubeadm:bootstrap-signer-clusterinfo: User system:anonymous',
      ],
      'RoleBinding kube-system/kubeadm:nodes-kubeadm-config': [
        `  Role kubeadm:nodes-kubeadm-config: ${joining}, Group system:nodes`,
      ],
      'RoleBinding kube-system/kubeadm:kubelet-config': [
        `  Role kubeadm:kubelet-config: ${joining}, Group system:nodes`,
      ],
    });
  });

  it('has more with the gates ClusterTrustBundle and PodCertificateRequest', () => {
    const plain = beside();
    const added = Object.fromEntries(
      Object.entries(beside(['ClusterTrustBundle', 'PodCertificateRequest'])).filter(
        ([head]) => plain[head] === undefined,
      ),
    );
    const { 'ClusterRole system:node': ofNodes = [], ...others } = added;
    const before = new Set(theirs.get('ClusterRole system:node'));
    assert.deepEqual(
      ofNodes
        .filter((line) => !before.has(line))
        .map((line) => line.replace(/: .*(clustertrustbundles|podcertificaterequests)\.\S+.*/, ': $1')),
      ['  create get list watch: podcertificaterequests', '  get list watch: clustertrustbundles'],
    );
    assert.deepEqual(others, {
      'ClusterRole system:cluster-trust-bundle-discovery': [
        '  get list watch: clustertrustbundles.certificates.k8s.io',
      ],
      'ClusterRoleBinding system:cluster-trust-bundle-discovery': [
        '  ClusterRole system:cluster-trust-bundle-discovery: Group system:serviceaccounts',
      ],
      'ClusterRole system:controller:kube-apiserver-serving-clustertrustbundle-publisher': [
        '  attest: signers.certificates.k8s.io=kubernetes.io/kube-apiserver-serving',
        '  create delete list update watch: clustertrustbundles.certificates.k8s.io',
        '  create patch update: events events.events.k8s.io',
      ],
      'ClusterRoleBinding system:controller:kube-apiserver-serving-clustertrustbundle-publisher': [
        '  ClusterRole system:controller:kube-apiserver-serving-clustertrustbundle-publisher: ServiceAccount kube-system/kube-apiserver-serving-clustertrustbundle-publisher',
      ],
      'ClusterRole system:controller:podcertificaterequestcleaner': [
        '  delete get list watch: podcertificaterequests.certificates.k8s.io',
      ],
      'ClusterRoleBinding system:controller:podcertificaterequestcleaner': [
        '  ClusterRole system:controller:podcertificaterequestcleaner: ServiceAccount kube-system/podcertificaterequestcleaner',
      ],
    });
  });

  it('has more with the gate StorageVersionMigrator', () => {
    const plain = beside();
    const added = Object.entries(beside(['StorageVersionMigrator'])).filter(([head]) => plain[head] === undefined);
    assert.deepEqual(Object.fromEntries(added), {
      'ClusterRole system:controller:storage-version-migrator-controller': [
        '  create list patch: *.*',
        '  get: customresourcedefinitions.apiextensions.k8s.io',
        '  patch: customresourcedefinitions/status.apiextensions.k8s.io',
        '  update: storageversionmigrations/status.storagemigration.k8s.io',
      ],
      'ClusterRoleBinding system:controller:storage-version-migrator-controller': [
        '  ClusterRole system:controller:storage-version-migrator-controller: ServiceAccount kube-system/storage-version-migrator-controller',
      ],
    });
  });

  it('labels all its objects, so that they are kept up to date', () => {
    const { clusterRoles, clusterRoleBindings, roles, roleBindings } = defaultPolicy();
    for (const { metadata } of [...clusterRoles, ...roles, ...roleBindings]) {
      assert.equal(metadata.annotations?.['rbac.authorization.kubernetes.io/autoupdate'], 'true', metadata.name);
      assert.equal(metadata.labels?.['kubernetes.io/bootstrapping'], 'rbac-defaults', metadata.name);
    }
    // Bindings that kubeadm made are its own, and an administrator may change them.
    for (const { metadata } of clusterRoleBindings)
      assert.equal(metadata.annotations !== undefined, !metadata.name.startsWith('kubeadm:'), metadata.name);
  });

  it('has rules of nodes for the Node authorizer, equal to those of its role', () => {
    for (const gates of [[], ['ClusterTrustBundle'], ['PodCertificateRequest']] as const) {
      const role = defaultPolicy(new Set(gates)).clusterRoles.find(({ metadata }) => metadata.name === 'system:node');
      assert.deepEqual(nodeRules(new Set(gates)), role?.rules);
    }
  });
});
