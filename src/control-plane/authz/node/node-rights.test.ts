import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { persistentVolumes, pods, resourceSlices, volumeAttachments } from '../../../api/client/resource-types.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { podQuestion } from '../../model/testing/pod-question.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from '../../model/user-info.ts';
import { createNodeAuthorizer } from './node-authorizer.ts';
import { NodeGraph } from './node-graph.ts';

const n1 = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
const verbs = ['get', 'list', 'watch', 'create', 'update', 'patch', 'delete', 'deletecollection', 'bind', 'use'];

function setUp() {
  const reader = new FakeObjectReader();
  const graph = new NodeGraph(reader);
  const authorizer = createNodeAuthorizer(graph);
  const decide = (changes: Partial<AuthorizationAttributes>) =>
    authorizer.authorize(podQuestion(n1, changes)) as AuthorizationDecision;
  return { reader, graph, authorizer, decide };
}

/** A pod on the node with all possible references. Their names end with its suffix. */
function podWith(suffix: string, nodeName: string): Pod {
  return buildPod({
    'metadata.name': `pod-${suffix}`,
    'spec.nodeName': nodeName,
    'spec.serviceAccountName': `account-${suffix}`,
    'spec.imagePullSecrets': [{ name: `secret-${suffix}` }],
    'spec.resourceClaims': [{ name: 'gpu', resourceClaimName: `claim-${suffix}` }],
    'spec.volumes': [
      { name: 'm', configMap: { name: `map-${suffix}` } },
      { name: 'c', persistentVolumeClaim: { claimName: `disk-${suffix}` } },
    ],
  });
}

/** Objects named `<kind>-mine` belong to the node, and those named `<kind>-theirs` to another node. */
function setUpTwoNodes() {
  const world = setUp();
  for (const [suffix, node] of [
    ['mine', 'n1'],
    ['theirs', 'n2'],
  ] as const) {
    world.reader.put(pods, podWith(suffix, node));
    world.reader.put(persistentVolumes, volume(`volume-${suffix}`, `disk-${suffix}`, {}));
    const metadata = { namespace: '', uid: '' };
    world.reader.put(volumeAttachments, {
      metadata: { ...metadata, name: `attachment-${suffix}` },
      spec: { attacher: 'd', nodeName: node, source: {} },
    });
    world.reader.put(resourceSlices, {
      metadata: { ...metadata, name: `slice-${suffix}` },
      spec: { driver: 'd', nodeName: node, pool: { name: 'p', generation: 1, resourceSliceCount: 1 } },
    });
  }
  return world;
}

function volume(name: string, claim: string, source: object): PersistentVolume {
  return {
    metadata: { name, namespace: '', uid: '' },
    spec: { claimRef: { namespace: 'default', name: claim }, ...source },
  };
}

describe('the verbs that a node may use', () => {
  const read = 'get list watch';
  const own = 'get create update patch delete';
  const storage = { apiGroup: 'storage.k8s.io', namespace: '' };
  const devices = { apiGroup: 'resource.k8s.io' };
  const lease = { apiGroup: 'coordination.k8s.io', namespace: 'kube-node-lease' };
  const certificates = { apiGroup: 'certificates.k8s.io' };
  const selected = { fieldSelector: 'spec.nodeName=n1' };
  // What, how its names begin, the verbs for the node's own object, those for an object of another node.
  const rows: readonly [what: string, name: string, mine: string, theirs: string, more?: object][] = [
    ['secrets', 'secret', read, ''],
    ['secrets/x', 'secret', '', ''],
    ['configmaps', 'map', read, ''],
    ['configmaps/x', 'map', '', ''],
    ['persistentvolumeclaims', 'disk', 'get', ''],
    ['persistentvolumeclaims/status', 'disk', 'update patch', ''],
    ['persistentvolumeclaims/x', 'disk', '', ''],
    ['persistentvolumes', 'volume', 'get', '', { namespace: '' }],
    ['persistentvolumes/status', 'volume', '', '', { namespace: '' }],
    ['volumeattachments', 'attachment', 'get', '', storage],
    ['volumeattachments/status', 'attachment', '', '', storage],
    ['serviceaccounts', 'account', 'get', ''],
    ['serviceaccounts/token', 'account', 'create', ''],
    ['serviceaccounts/x', 'account', '', ''],
    ['pods', 'pod', 'get list watch create delete', 'create delete'],
    ['pods', 'pod', 'get list watch create delete', 'list watch create delete', selected],
    ['pods/status', 'pod', 'update patch', 'update patch'],
    ['pods/eviction', 'pod', 'create', 'create'],
    ['pods/exec', 'pod', '', ''],
    ['nodes', '', 'get list watch create update patch', 'create update patch', { namespace: '' }],
    ['nodes/status', '', 'update patch', 'update patch', { namespace: '' }],
    ['nodes/proxy', '', '', '', { namespace: '' }],
    ['leases', '', own, 'create', lease],
    ['leases', '', '', '', { ...lease, namespace: 'default' }],
    ['csinodes', '', own, 'create', storage],
    ['csinodes/status', '', '', '', storage],
    ['resourceclaims', 'claim', 'get', '', devices],
    ['resourceclaims/status', 'claim', '', '', devices],
    ['resourceslices', 'slice', own, 'create', { ...devices, namespace: '' }],
    [
      'resourceslices',
      'slice',
      'get list watch create update patch delete deletecollection',
      'list watch create deletecollection',
      { ...devices, ...selected, namespace: '' },
    ],
    ['resourceslices/status', 'slice', '', '', { ...devices, namespace: '' }],
    ['podcertificaterequests', 'request', '', '', certificates],
  ];
  const { decide } = setUpTwoNodes();
  for (const [what, prefix, mine, theirs, more = {}] of rows) {
    const [resource = '', subresource = ''] = what.split('/');
    const allowed = (name: string): string => {
      const request = { namespace: 'default', ...more, resource, subresource, name };
      return verbs.filter((verb) => decide({ ...request, verb }).decision === 'allow').join(' ');
    };
    const inOrder = (text: string): string => verbs.filter((verb) => text.split(' ').includes(verb)).join(' ');
    it(`${what} ${JSON.stringify(more)}: for its own "${mine}", for those of other nodes "${theirs}"`, () => {
      assert.equal(allowed(prefix === '' ? 'n1' : `${prefix}-mine`), inOrder(mine));
      assert.equal(allowed(prefix === '' ? 'n2' : `${prefix}-theirs`), inOrder(theirs));
    });
  }

  it('require a name where the decision depends on the object', () => {
    const token = { verb: 'create', subresource: 'token', namespace: 'default' };
    for (const resource of ['secrets', 'configmaps', 'serviceaccounts', 'persistentvolumeclaims'])
      assert.equal(decide({ resource, namespace: 'default' }).reason, 'No Object name found', resource);
    assert.equal(decide({ ...token, resource: 'serviceaccounts' }).decision, 'noOpinion');
    assert.equal(decide({ ...certificates, resource: 'podcertificaterequests' }).reason, '');
    assert.equal(
      decide({ ...certificates, resource: 'podcertificaterequests', name: 'x' }).reason,
      "no relationship found between node 'n1' and this object",
    );
  });
});

describe('the rules of a user', () => {
  it('cannot be listed for nodes, and are empty for other users', async () => {
    const { authorizer } = setUp();
    const none = { resourceRules: [], nonResourceRules: [] };
    assert.deepEqual(await authorizer.rulesFor?.(n1, 'default'), {
      ...none,
      incomplete: true,
      evaluationError: 'node authorizer does not support user rule resolution',
    });
    assert.deepEqual(await authorizer.rulesFor?.({ name: 'jane', groups: [] }, 'default'), {
      ...none,
      incomplete: false,
    });
  });
});

describe('the graph', () => {
  it('follows the claims in the status of a pod', () => {
    const { reader, decide } = setUp();
    const pod = buildPod({
      'spec.nodeName': 'n1',
      'spec.resourceClaims': [{ name: 'gpu', resourceClaimTemplateName: 'template' }],
    });
    const allows = (name: string): boolean =>
      decide({ apiGroup: 'resource.k8s.io', resource: 'resourceclaims', namespace: 'default', name }).decision ===
      'allow';
    reader.put(pods, pod);
    assert.deepEqual([allows('made'), allows('extended')], [false, false]);
    const made = { ...pod.status, resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'made' }] };
    reader.put(pods, { ...pod, status: made });
    assert.deepEqual([allows('made'), allows('extended')], [true, false]);
    const extended = { requestMappings: [], resourceClaimName: 'extended' };
    reader.put(pods, { ...pod, status: { ...made, extendedResourceClaimStatus: extended } });
    assert.deepEqual([allows('made'), allows('extended')], [true, true]);
    reader.put(pods, pod);
    assert.deepEqual([allows('made'), allows('extended')], [false, false]);
  });

  it('knows objects that existed before it, and gets no events after it is closed', () => {
    const reader = new FakeObjectReader();
    reader.put(pods, podWith('mine', 'n1'));
    const graph = new NodeGraph(reader);
    assert.equal(graph.refersTo('n1', 'secrets/default/secret-mine'), true);
    graph.close();
    assert.equal(reader.listeners, 0);
  });

  it("grants nothing for pods without a node, and follows changes of a pod's metadata", () => {
    const { reader, decide } = setUp();
    const pod = podWith('mine', '');
    const canRead = (): boolean =>
      decide({ resource: 'secrets', namespace: 'default', name: 'secret-mine' }).decision === 'allow';
    reader.put(pods, pod);
    assert.equal(canRead(), false);
    const bound = { ...pod, spec: { ...pod.spec, nodeName: 'n1' } };
    reader.put(pods, bound);
    assert.equal(canRead(), true);
    const annotations = { 'kubernetes.io/config.mirror': 'x' };
    reader.put(pods, { ...bound, metadata: { ...bound.metadata, annotations } });
    assert.equal(canRead(), false, 'it is a mirror pod now');
  });

  const inBoth = (name: string) => ({ name, namespace: 'elsewhere' });
  for (const [source, spec, secret] of [
    ['azureFile', { secretName: 's' }, 'default/s'],
    ['azureFile', { secretName: 's', secretNamespace: 'elsewhere' }, 'elsewhere/s'],
    ['cephfs', { secretRef: { name: 's' } }, 'default/s'],
    ['cephfs', { secretRef: inBoth('s') }, 'elsewhere/s'],
    ['cinder', { secretRef: inBoth('s') }, 'elsewhere/s'],
    ['flexVolume', { driver: 'd', secretRef: { name: 's' } }, 'default/s'],
    ['rbd', { secretRef: { name: 's' } }, 'default/s'],
    ['scaleIO', { secretRef: { name: 's' } }, 'default/s'],
    ['iscsi', { secretRef: { name: 's' } }, 'default/s'],
    ['storageos', { secretRef: inBoth('s') }, 'elsewhere/s'],
    ['csi', { driver: 'd', nodePublishSecretRef: inBoth('s') }, 'elsewhere/s'],
    ['csi', { driver: 'd', nodeExpandSecretRef: inBoth('s') }, 'elsewhere/s'],
    ['csi', { driver: 'd', controllerExpandSecretRef: inBoth('s') }, undefined],
    ['cinder', { secretRef: { name: 's' } }, undefined],
    ['cephfs', { secretRef: null }, undefined],
    ['cephfs', { secretRef: { name: '', namespace: 'elsewhere' } }, undefined],
  ] as const)
    it(`lets the node of a claim read ${secret ?? 'no secret'} for ${source} ${JSON.stringify(spec)}`, () => {
      const { reader, decide } = setUp();
      reader.put(pods, podWith('mine', 'n1'));
      reader.put(persistentVolumes, volume('v', 'disk-mine', { [source]: spec }));
      const names = ['default', 'elsewhere', ''].flatMap((namespace) =>
        ['s', '']
          .filter((name) => decide({ resource: 'secrets', namespace, name }).decision === 'allow')
          .map((name) => `${namespace}/${name}`),
      );
      assert.deepEqual(names, secret === undefined ? [] : [secret]);
    });
});
