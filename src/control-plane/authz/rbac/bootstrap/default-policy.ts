import { lookupTable } from '../../../../base/lookup.ts';
import type { ClusterRoleBinding } from '../../../../api/rbac/cluster-role-binding.ts';
import type { ClusterRole } from '../../../../api/rbac/cluster-role.ts';
import type { Subject } from '../../../../api/rbac/policy-rule.ts';
import type { RoleBinding } from '../../../../api/rbac/role-binding.ts';
import type { Role } from '../../../../api/rbac/role.ts';
import { parseRule } from '../policy-rules.ts';
import type { ControlPlaneGate } from '../../../model/control-plane-gates.ts';
import { clusterRoleRules, gatedClusterRoleRules } from './cluster-roles.ts';
import { controllerRoleRules, gatedControllerRoleRules } from './controller-roles.ts';

const API_VERSION = 'rbac.authorization.k8s.io/v1';
const API_GROUP = 'rbac.authorization.k8s.io';
const bootstrapLabels = { 'kubernetes.io/bootstrapping': 'rbac-defaults' };
const aggregateTo = (role: string): Record<string, string> => ({
  [`rbac.authorization.k8s.io/aggregate-to-${role}`]: 'true',
});

const EVENTS = 'create,patch,update core,events.k8s.io events';
/** The group of nodes that join with a token of kubeadm. */
const JOINING = 'group:system:bootstrappers:kubeadm:default-node-token';
const leaderLock = [
  'create,get,list,update,watch coordination.k8s.io leases',
  'create,get,list,update,watch coordination.k8s.io leasecandidates',
];

/** Labels by which roles are aggregated into others. */
const roleLabels: Readonly<Record<string, Readonly<Record<string, string>>>> = lookupTable({
  edit: aggregateTo('admin'),
  view: aggregateTo('edit'),
  'system:aggregate-to-admin': aggregateTo('admin'),
  'system:aggregate-to-edit': aggregateTo('edit'),
  'system:aggregate-to-view': aggregateTo('view'),
  'system:kubelet-ts:metrics-reader': { ...aggregateTo('admin'), ...aggregateTo('edit'), ...aggregateTo('view') },
});

/** Subjects in short form: `user:name`, `group:name`, `sa:namespace/name`. */
const clusterBindings: Readonly<Record<string, readonly string[]>> = {
  'cluster-admin': ['group:system:masters'],
  'system:monitoring': ['group:system:monitoring'],
  'system:discovery': ['group:system:authenticated'],
  'system:basic-user': ['group:system:authenticated'],
  'system:public-info-viewer': ['group:system:authenticated', 'group:system:unauthenticated'],
  'system:node-proxier': ['user:system:kube-proxy'],
  'system:kube-controller-manager': ['user:system:kube-controller-manager'],
  'system:kube-dns': ['sa:kube-system/kube-dns'],
  'system:kube-scheduler': ['user:system:kube-scheduler'],
  'system:volume-scheduler': ['user:system:kube-scheduler'],
  'system:service-account-issuer-discovery': ['group:system:serviceaccounts'],
  /** The binding has no subjects, because the Node authorizer decides about nodes. */
  'system:node': [],
};

/** Allows service accounts to read the objects that their pods mount, only with the feature gate. */
const trustBundleBindings: Readonly<Record<string, readonly string[]>> = {
  'system:cluster-trust-bundle-discovery': ['group:system:serviceaccounts'],
};

const namespacedRoles: readonly {
  readonly namespace: string;
  readonly name: string;
  readonly rules: readonly string[];
  readonly subjects: readonly string[];
  readonly binding?: string;
}[] = [
  {
    namespace: 'kube-system',
    name: 'extension-apiserver-authentication-reader',
    rules: ['read core configmaps extension-apiserver-authentication'],
    subjects: ['user:system:kube-controller-manager', 'user:system:kube-scheduler'],
    binding: 'system::extension-apiserver-authentication-reader',
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:bootstrap-signer',
    rules: ['read core secrets'],
    subjects: ['sa:kube-system/bootstrap-signer'],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:cloud-provider',
    rules: ['create,read core configmaps'],
    subjects: ['sa:kube-system/cloud-provider'],
  },
  {
    namespace: 'kube-system',
    name: 'system:controller:token-cleaner',
    rules: ['delete,read core secrets', EVENTS],
    subjects: ['sa:kube-system/token-cleaner'],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-controller-manager',
    rules: leaderLock,
    subjects: ['user:system:kube-controller-manager', 'sa:kube-system/kube-controller-manager'],
  },
  {
    namespace: 'kube-system',
    name: 'system::leader-locking-kube-scheduler',
    rules: leaderLock,
    subjects: ['user:system:kube-scheduler', 'sa:kube-system/kube-scheduler'],
  },
  {
    namespace: 'kube-public',
    name: 'system:controller:bootstrap-signer',
    rules: ['read core configmaps', 'update core configmaps cluster-info', EVENTS],
    subjects: ['sa:kube-system/bootstrap-signer'],
  },
  // The objects that `kubeadm join` reads: cluster-info without authentication, because it is signed with the token,
  // and then the configuration, with the token.
  {
    namespace: 'kube-public',
    name: 'kubeadm:bootstrap-signer-clusterinfo',
    rules: ['get core configmaps cluster-info'],
    subjects: ['user:system:anonymous'],
  },
  {
    namespace: 'kube-system',
    name: 'kubeadm:nodes-kubeadm-config',
    rules: ['get core configmaps kubeadm-config'],
    subjects: [JOINING, 'group:system:nodes'],
  },
  {
    namespace: 'kube-system',
    name: 'kubeadm:kubelet-config',
    rules: ['get core configmaps kubelet-config'],
    subjects: [JOINING, 'group:system:nodes'],
  },
];

/**
 * The bindings of kubeadm, so that its credentials work here: administrators in a group whose rights, unlike those of
 * system:masters, can be revoked, and nodes that join with a token. The values are name, cluster role and subjects.
 */
const kubeadmBindings: readonly (readonly [string, string, readonly string[]])[] = [
  ['kubeadm:cluster-admins', 'cluster-admin', ['group:kubeadm:cluster-admins']],
  ['kubeadm:kubelet-bootstrap', 'system:node-bootstrapper', [JOINING]],
  ['kubeadm:get-nodes', 'kubeadm:get-nodes', [JOINING]],
  ['kubeadm:node-autoapprove-bootstrap', 'system:certificates.k8s.io:certificatesigningrequests:nodeclient', [JOINING]],
  [
    'kubeadm:node-autoapprove-certificate-rotation',
    'system:certificates.k8s.io:certificatesigningrequests:selfnodeclient',
    ['group:system:nodes'],
  ],
];

export interface RbacPolicy {
  readonly clusterRoles: readonly ClusterRole[];
  readonly clusterRoleBindings: readonly ClusterRoleBinding[];
  readonly roles: readonly Role[];
  readonly roleBindings: readonly RoleBinding[];
}

/**
 * Returns the roles and bindings of a new cluster of upstream, and the bindings of kubeadm. They are created at each
 * call, because they are needed once, at the start.
 */
export function defaultPolicy(gates: Gates = new Set()): RbacPolicy {
  const controllers = gatedRules(controllerRoleRules, gatedControllerRoleRules, gates);
  return {
    clusterRoles: [...plainClusterRoles(gates), ...aggregatedClusterRoles(), ...controllerRoles(controllers)],
    clusterRoleBindings: [
      ...defaultBindings(gates),
      ...controllerBindings(controllers),
      ...kubeadmBindings.map(([name, role, subjects]) => clusterBinding(name, role, subjects, false)),
    ],
    roles: namespacedRoles.map(({ namespace, name, rules }) => ({
      apiVersion: API_VERSION,
      kind: 'Role',
      metadata: metadata(name, namespace),
      rules: rules.map(parseRule),
    })),
    roleBindings: namespacedRoles.map(({ namespace, name, subjects, binding }) => ({
      apiVersion: API_VERSION,
      kind: 'RoleBinding',
      metadata: metadata(binding ?? name, namespace),
      roleRef: { apiGroup: API_GROUP, kind: 'Role', name },
      subjects: subjects.map(parseSubject),
    })),
  };
}

/** Returns the rules that apply to every node, independent of the object. */
export const nodeRules = (gates: Gates = new Set()): ReturnType<typeof parseRule>[] =>
  (gatedRules(clusterRoleRules, gatedClusterRoleRules, gates)['system:node'] ?? []).map(parseRule);

type Gates = ReadonlySet<ControlPlaneGate>;
type Rules = Readonly<Record<string, readonly string[]>>;

/** The rules of roles, including those of enabled feature gates. */
function gatedRules(plain: Rules, gated: Readonly<Record<ControlPlaneGate, Rules>>, gates: Gates): Rules {
  const rules = new Map(Object.entries(plain));
  for (const gate of gates)
    for (const [role, added] of Object.entries(gated[gate])) rules.set(role, [...(rules.get(role) ?? []), ...added]);
  return lookupTable(Object.fromEntries(rules));
}

function metadata(
  name: string,
  namespace = '',
  labels: Readonly<Record<string, string>> = {},
): ClusterRole['metadata'] {
  return {
    name,
    namespace,
    uid: '',
    labels: { ...bootstrapLabels, ...labels },
    annotations: { 'rbac.authorization.kubernetes.io/autoupdate': 'true' },
  };
}

function plainClusterRoles(gates: Gates): ClusterRole[] {
  return Object.entries(gatedRules(clusterRoleRules, gatedClusterRoleRules, gates)).map(([name, rules]) => ({
    apiVersion: API_VERSION,
    kind: 'ClusterRole',
    metadata: metadata(name, '', roleLabels[name]),
    rules: rules.map(parseRule),
  }));
}

function aggregatedClusterRoles(): ClusterRole[] {
  return ['admin', 'edit', 'view'].map((name) => ({
    apiVersion: API_VERSION,
    kind: 'ClusterRole',
    metadata: metadata(name, '', roleLabels[name]),
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregateTo(name) }] },
    rules: [],
  }));
}

function controllerRoles(controllers: Rules): ClusterRole[] {
  return Object.entries(controllers).map(([name, rules]) => ({
    apiVersion: API_VERSION,
    kind: 'ClusterRole',
    metadata: metadata(`system:controller:${name}`),
    rules: rules.map(parseRule),
  }));
}

function defaultBindings(gates: Gates): ClusterRoleBinding[] {
  const gated = gates.has('ClusterTrustBundle') ? trustBundleBindings : {};
  return Object.entries({ ...clusterBindings, ...gated }).map(([name, subjects]) =>
    clusterBinding(name, name, subjects, true),
  );
}

function controllerBindings(controllers: Rules): ClusterRoleBinding[] {
  return Object.keys(controllers).map((name) =>
    clusterBinding(`system:controller:${name}`, `system:controller:${name}`, [`sa:kube-system/${name}`], true),
  );
}

function clusterBinding(
  name: string,
  role: string,
  subjects: readonly string[],
  isBootstrap: boolean,
): ClusterRoleBinding {
  const made = isBootstrap ? metadata(name) : { name, namespace: '', uid: '' };
  return {
    apiVersion: API_VERSION,
    kind: 'ClusterRoleBinding',
    metadata: made,
    roleRef: { apiGroup: API_GROUP, kind: 'ClusterRole', name: role },
    ...(subjects.length > 0 && { subjects: subjects.map(parseSubject) }),
  };
}

function parseSubject(text: string): Subject {
  const colon = text.indexOf(':');
  const [kind, name] = [text.slice(0, colon), text.slice(colon + 1)];
  if (kind !== 'sa') return { kind: kind === 'user' ? 'User' : 'Group', apiGroup: API_GROUP, name };
  const [namespace = '', account = ''] = name.split('/');
  return { kind: 'ServiceAccount', name: account, namespace };
}
