import { parseFieldSelector } from '../../../api/selectors.ts';
import { nodeNameOf } from '../../model/node-identity.ts';
import type { AuthorizationAttributes, AuthorizationDecision, Authorizer } from '../../model/user-info.ts';
import type { ControlPlaneGate } from '../../model/control-plane-gates.ts';
import { nodeRules } from '../rbac/bootstrap/default-policy.ts';
import { ruleAllows } from '../rbac/policy-rules.ts';
import type { NodeGraph } from './node-graph.ts';
import { referenceKey } from './node-references.ts';
import type { ReferencedPlural } from './node-references.ts';

const allow: AuthorizationDecision = { decision: 'allow', reason: '' };
const noOpinion = (reason: string): AuthorizationDecision => ({ decision: 'noOpinion', reason });
const goQuoted = (value: string): string => JSON.stringify(value);

const POD_CERTIFICATES = 'podcertificaterequests.certificates.k8s.io';

type Check = (graph: NodeGraph, node: string, attributes: AuthorizationAttributes) => AuthorizationDecision;

/**
 * Authorizes kubelets: a few requests for all nodes, reads of objects that the pods of the node need, and writes of its
 * own objects. The admission plugin NodeRestriction checks what depends on the content of a request. Never denies; it
 * has an opinion only for nodes. Matches upstream's plugin/pkg/auth/authorizer/node of v1.36, with authorization by
 * selectors.
 */
export function createNodeAuthorizer(graph: NodeGraph, gates: ReadonlySet<ControlPlaneGate> = new Set()): Authorizer {
  const rules = nodeRules(gates);
  const checks = gates.has('PodCertificateRequest')
    ? new Map([...plainChecks, [POD_CERTIFICATES, checkPodCertificate]])
    : plainChecks;
  return {
    name: 'Node',
    authorize: (attributes) => {
      const node = nodeNameOf(attributes.user);
      if (node === undefined) return noOpinion('');
      if (node === '') return noOpinion(`unknown node for user ${goQuoted(attributes.user.name)}`);
      const check = attributes.resourceRequest
        ? checks.get(`${attributes.resource}.${attributes.apiGroup}`)
        : undefined;
      if (check !== undefined) return check(graph, node, attributes);
      return rules.some((rule) => ruleAllows(rule, attributes)) ? allow : noOpinion('');
    },
    rulesFor: (user) => {
      const isNode = nodeNameOf(user) !== undefined;
      const none = { resourceRules: [], nonResourceRules: [], incomplete: isNode };
      return Promise.resolve(
        isNode ? { ...none, evaluationError: 'node authorizer does not support user rule resolution' } : none,
      );
    },
  };
}

const unrelated = (node: string): AuthorizationDecision =>
  noOpinion(`no relationship found between node '${node}' and this object`);

function related(node: string, { name }: AuthorizationAttributes, isRelated: () => boolean): AuthorizationDecision {
  if (name === '') return noOpinion('No Object name found');
  return isRelated() ? allow : unrelated(node);
}

const refers =
  (plural: ReferencedPlural): Check =>
  (graph, node, attributes) =>
    related(node, attributes, () => graph.refersTo(node, referenceKey(plural, attributes.namespace, attributes.name)));

/** Allows get, list and watch of single objects, because kubelets watch each secret and config map individually. */
const readNamespaced =
  (plural: ReferencedPlural): Check =>
  (graph, node, attributes) => {
    if (!['get', 'list', 'watch'].includes(attributes.verb)) return noOpinion('can only read resources of this type');
    if (attributes.subresource !== '') return noOpinion('cannot read subresource');
    if (attributes.namespace === '') return noOpinion('can only read namespaced object of this type');
    return refers(plural)(graph, node, attributes);
  };

const getOnly =
  (check: Check): Check =>
  (graph, node, attributes) => {
    if (attributes.verb !== 'get') return noOpinion('can only get individual resources of this type');
    if (attributes.subresource !== '') return noOpinion('cannot get subresource');
    return check(graph, node, attributes);
  };

const checkClaim: Check = (graph, node, attributes) => {
  const refersToClaim = refers('persistentvolumeclaims');
  if (attributes.subresource !== 'status') return getOnly(refersToClaim)(graph, node, attributes);
  if (attributes.verb !== 'update' && attributes.verb !== 'patch')
    return noOpinion('can only get/update/patch this type');
  return refersToClaim(graph, node, attributes);
};

const checkServiceAccount: Check = (graph, node, attributes) => {
  if (attributes.verb === 'get' && attributes.subresource === '')
    return readNamespaced('serviceaccounts')(graph, node, attributes);
  if (attributes.verb !== 'create' || attributes.name === '')
    return noOpinion('can only create tokens for individual service accounts');
  if (attributes.subresource !== 'token') return noOpinion('can only create token subresource of serviceaccount');
  return refers('serviceaccounts')(graph, node, attributes);
};

const ownVerbs: readonly string[] = ['get', 'create', 'update', 'patch', 'delete'];

const checkLease: Check = (_graph, node, { verb, namespace, name }) => {
  if (!ownVerbs.includes(verb)) return noOpinion('can only get, create, update, patch, or delete a node lease');
  if (namespace !== 'kube-node-lease')
    return noOpinion('can only access leases in the "kube-node-lease" system namespace');
  // Only admission sees the name of a created object.
  return verb === 'create' || name === node
    ? allow
    : noOpinion('can only access node lease with the same name as the requesting node');
};

const checkCsiNode: Check = (_graph, node, { verb, subresource, name }) => {
  if (!ownVerbs.includes(verb)) return noOpinion('can only get, create, update, patch, or delete a CSINode');
  if (subresource !== '') return noOpinion('cannot authorize CSINode subresources');
  return verb === 'create' || name === node
    ? allow
    : noOpinion('can only access CSINode with the same name as the requesting node');
};

const checkNode: Check = (_graph, node, { verb, subresource, name }) => {
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? allow : noOpinion('');
  if (subresource !== '') return noOpinion('');
  if (verb === 'create' || verb === 'update' || verb === 'patch') return allow;
  if (!['get', 'list', 'watch'].includes(verb)) return noOpinion('');
  if (name === node) return allow;
  return noOpinion(
    name === ''
      ? `node '${node}' cannot read all nodes, only its own Node object`
      : `node '${node}' cannot read '${name}', only its own Node object`,
  );
};

const checkPod: Check = (graph, node, attributes) => {
  const { verb, subresource, name } = attributes;
  if (subresource === 'status') return verb === 'update' || verb === 'patch' ? allow : noOpinion('');
  if (subresource === 'eviction') return verb === 'create' ? allow : noOpinion('');
  if (subresource !== '') return noOpinion('');
  if (verb === 'create' || verb === 'delete') return allow;
  if (verb === 'get') return refers('pods')(graph, node, attributes);
  if (verb !== 'list' && verb !== 'watch') return noOpinion('');
  if (selectsNode(attributes.fieldSelector, node)) return allow;
  return name === ''
    ? noOpinion('can only list/watch pods with spec.nodeName field selector')
    : refers('pods')(graph, node, attributes);
};

function selectsNode(selector: string | undefined, node: string): boolean {
  const parsed = parseFieldSelector(selector ?? '');
  return (
    typeof parsed !== 'string' &&
    parsed.some(({ field, equal, value }) => field === 'spec.nodeName' && equal && value === node)
  );
}

const checkResourceSlice: Check = (graph, node, attributes) => {
  const { verb, subresource, name, fieldSelector } = attributes;
  if (subresource !== '') return noOpinion('cannot authorize ResourceSlice subresources');
  // Only admission sees the node of a new slice.
  if (verb === 'create') return allow;
  if (['get', 'update', 'patch', 'delete'].includes(verb))
    return related(node, attributes, () => graph.ownsSlice(node, name));
  if (!['watch', 'list', 'deletecollection'].includes(verb))
    return noOpinion(
      'only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, delete, deletecollection',
    );
  return selectsNode(fieldSelector, node)
    ? allow
    : noOpinion('can only list/watch/deletecollection resourceslices with nodeName field selector');
};

const checkPodCertificate: Check = (graph, node, attributes) => {
  const { verb, subresource, namespace, name, fieldSelector } = attributes;
  if (subresource !== '') return noOpinion('nodes may not access the status subresource of PodCertificateRequests');
  switch (verb) {
    case 'create':
      // Admission checks the pod.
      return allow;
    case 'get':
      return related(node, attributes, () => graph.requestedCertificate(node, namespace, name));
    case 'list':
    case 'watch':
      return selectsNode(fieldSelector, node)
        ? allow
        : noOpinion('can only list/watch podcertificaterequests with nodeName field selector');
    default:
      return noOpinion(`nodes may not ${verb} podcertificaterequests`);
  }
};

const nothing: Check = (_graph, node, attributes) =>
  attributes.verb === 'get' && attributes.name !== '' ? unrelated(node) : noOpinion('');

const plainChecks: ReadonlyMap<string, Check> = new Map<string, Check>([
  ['secrets.', readNamespaced('secrets')],
  ['configmaps.', readNamespaced('configmaps')],
  ['persistentvolumeclaims.', checkClaim],
  [
    'persistentvolumes.',
    getOnly((graph, node, attributes) => related(node, attributes, () => graph.usesVolume(node, attributes.name))),
  ],
  [
    'volumeattachments.storage.k8s.io',
    getOnly((graph, node, attributes) => related(node, attributes, () => graph.isAttachedTo(node, attributes.name))),
  ],
  ['serviceaccounts.', checkServiceAccount],
  ['leases.coordination.k8s.io', checkLease],
  ['csinodes.storage.k8s.io', checkCsiNode],
  ['nodes.', checkNode],
  ['pods.', checkPod],
  ['resourceclaims.resource.k8s.io', getOnly(refers('resourceclaims'))],
  ['resourceslices.resource.k8s.io', checkResourceSlice],
  // The kind exists only with its feature gate.
  [POD_CERTIFICATES, nothing],
]);
