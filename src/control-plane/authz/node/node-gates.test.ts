import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { PodCertificateRequest } from '../../../api/certificates/pod-certificate-request.ts';
import { podCertificateRequests } from '../../../api/client/resource-types.ts';
import { controlPlaneGates } from '../../model/control-plane-gates.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { podQuestion } from '../../model/testing/pod-question.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from '../../model/user-info.ts';
import { defaultPolicy } from '../rbac/bootstrap/default-policy.ts';
import { createNodeAuthorizer } from './node-authorizer.ts';
import { NodeGraph } from './node-graph.ts';

const node = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
const certificates = { apiGroup: 'certificates.k8s.io', namespace: 'default' };

const request = (name: string, nodeName: string): PodCertificateRequest => ({
  metadata: { name, namespace: 'default', uid: name },
  spec: {
    signerName: 'example.com/foo',
    podName: 'p',
    podUID: 'u',
    serviceAccountName: 'default',
    serviceAccountUID: 'u',
    nodeName,
    nodeUID: 'u',
  },
});

function setUp(gates: ReadonlySet<(typeof controlPlaneGates)[number]>) {
  const reader = new FakeObjectReader();
  reader.put(podCertificateRequests, request('mine', 'n1'), request('theirs', 'n2'));
  const authorizer = createNodeAuthorizer(new NodeGraph(reader), gates);
  return (resource: string, changes: Partial<AuthorizationAttributes>): AuthorizationDecision =>
    authorizer.authorize(podQuestion(node, { ...certificates, resource, ...changes })) as AuthorizationDecision;
}

it('with its gate a node creates certificate requests, and reads those of its own pods', () => {
  const decide = setUp(new Set(controlPlaneGates));
  const decision = (changes: Partial<AuthorizationAttributes>): string => {
    const { decision: word, reason } = decide('podcertificaterequests', changes);
    return reason || word;
  };
  assert.equal(decision({ verb: 'create' }), 'allow');
  assert.equal(decision({ verb: 'get', name: 'mine' }), 'allow');
  assert.match(decision({ verb: 'get', name: 'theirs' }), /^no relationship found/);
  for (const verb of ['list', 'watch']) {
    assert.equal(decision({ verb, fieldSelector: 'spec.nodeName=n1' }), 'allow');
    for (const fieldSelector of ['spec.nodeName=n2', 'spec.nodeName!=n1', ''])
      assert.match(decision({ verb, fieldSelector }), /^can only list\/watch podcertificaterequests with nodeName/);
  }
  assert.equal(decision({ verb: 'delete', name: 'mine' }), 'nodes may not delete podcertificaterequests');
  assert.match(decision({ verb: 'update', name: 'mine', subresource: 'status' }), /may not access the status/);
});

it('with its gate a node reads all trust bundles, without it none', () => {
  const read = { verb: 'list', namespace: '' };
  assert.equal(setUp(new Set(['ClusterTrustBundle']))('clustertrustbundles', read).decision, 'allow');
  assert.equal(setUp(new Set())('clustertrustbundles', read).decision, 'noOpinion');
});

it('the gates add their roles to the default policy; without them there are no additions', () => {
  const names = (gates: readonly (typeof controlPlaneGates)[number][]): readonly string[] =>
    defaultPolicy(new Set(gates)).clusterRoles.map(({ metadata }) => metadata.name);
  const plain = new Set(names([]));
  assert.deepEqual(
    names([...controlPlaneGates]).filter((name) => !plain.has(name)),
    [
      'system:cluster-trust-bundle-discovery',
      'system:controller:kube-apiserver-serving-clustertrustbundle-publisher',
      'system:controller:podcertificaterequestcleaner',
      'system:controller:storage-version-migrator-controller',
    ],
  );
  assert.deepEqual(
    defaultPolicy(new Set(['ClusterTrustBundle'])).clusterRoleBindings.find(
      ({ metadata }) => metadata.name === 'system:cluster-trust-bundle-discovery',
    )?.subjects,
    [{ kind: 'Group', apiGroup: 'rbac.authorization.k8s.io', name: 'system:serviceaccounts' }],
  );
});
