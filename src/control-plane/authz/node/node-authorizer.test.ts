import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { persistentVolumes, pods, volumeAttachments } from '../../../api/client/resource-types.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { AuthorizationAttributes, AuthorizationDecision } from '../../model/user-info.ts';
import { podQuestion } from '../../model/testing/pod-question.ts';
import { FakeObjectReader } from '../../model/testing/fake-object-reader.ts';
import { createNodeAuthorizer } from './node-authorizer.ts';
import { NodeGraph } from './node-graph.ts';

const n1 = { name: 'system:node:n1', groups: ['system:nodes', 'system:authenticated'] };
const ask = (changes: Partial<AuthorizationAttributes>): AuthorizationAttributes => podQuestion(n1, changes);

function setUp() {
  const reader = new FakeObjectReader();
  const authorizer = createNodeAuthorizer(new NodeGraph(reader));
  const decide = (changes: Partial<AuthorizationAttributes>) =>
    authorizer.authorize(ask(changes)) as AuthorizationDecision;
  return {
    reader,
    authorizer,
    decide,
    allows: (changes: Partial<AuthorizationAttributes>) => decide(changes).decision === 'allow',
  };
}

const volume = (name: string, claim: string | undefined, source: object): PersistentVolume => ({
  metadata: { name, namespace: '', uid: '' },
  spec: { ...(claim !== undefined && { claimRef: { namespace: 'default', name: claim } }), ...source },
});

const rich = (): Pod =>
  buildPod({
    'spec.nodeName': 'n1',
    'spec.serviceAccountName': 'robot',
    'spec.imagePullSecrets': [{ name: 'pull' }],
    'spec.containers[0].env': [{ name: 'A', valueFrom: { secretKeyRef: { name: 'env', key: 'k' } } }],
    'spec.containers[0].envFrom': [{ configMapRef: { name: 'from' } }],
    'spec.initContainers': [{ name: 'i', image: 'x', envFrom: [{ secretRef: { name: 'init' } }] }],
    'spec.ephemeralContainers': [
      { name: 'e', image: 'x', env: [{ name: 'A', valueFrom: { secretKeyRef: { name: 'ephemeral', key: 'k' } } }] },
    ],
    'spec.volumes': [
      { name: 's', secret: { secretName: 'vol' } },
      {
        name: 'p',
        projected: { sources: [{ secret: { name: 'projected' } }, { configMap: { name: 'kube-root-ca.crt' } }] },
      },
      { name: 'c', persistentVolumeClaim: { claimName: 'claim' } },
      { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: {} } } },
    ],
  });

describe('the Node authorizer', () => {
  it('has no opinion on users that are not nodes', () => {
    const { decide } = setUp();
    for (const user of [
      { name: 'system:node:n1', groups: [] },
      { name: 'jane', groups: ['system:nodes'] },
    ])
      assert.deepEqual(decide({ user, resource: 'services' }), { decision: 'noOpinion', reason: '' });
    assert.equal(
      decide({ user: { name: 'system:node:', groups: ['system:nodes'] } }).reason,
      'unknown node for user "system:node:"',
    );
  });

  it('lets a node read the objects that its pods refer to, in any container or volume, and no others', () => {
    const { reader, allows, decide } = setUp();
    reader.put(pods, rich(), {
      ...rich(),
      metadata: { ...rich().metadata, name: 'elsewhere' },
      spec: { ...buildPod({ 'spec.nodeName': 'n2', 'spec.imagePullSecrets': [{ name: 'theirs' }] }).spec },
    });
    for (const verb of ['get', 'list', 'watch']) {
      for (const name of ['pull', 'env', 'init', 'ephemeral', 'vol', 'projected'])
        assert.ok(allows({ verb, resource: 'secrets', namespace: 'default', name }), name);
      for (const name of ['from', 'kube-root-ca.crt'])
        assert.ok(allows({ verb, resource: 'configmaps', namespace: 'default', name }), name);
    }
    for (const name of ['claim', 'web-scratch'])
      assert.ok(allows({ resource: 'persistentvolumeclaims', namespace: 'default', name }), name);
    assert.ok(
      allows({
        verb: 'create',
        resource: 'serviceaccounts',
        subresource: 'token',
        namespace: 'default',
        name: 'robot',
      }),
    );
    assert.equal(
      decide({ resource: 'secrets', namespace: 'default', name: 'theirs' }).reason,
      "no relationship found between node 'n1' and this object",
    );
    assert.ok(!allows({ resource: 'secrets', namespace: 'kube-system', name: 'pull' }));
    assert.equal(decide({ verb: 'list', resource: 'secrets', namespace: 'default' }).reason, 'No Object name found');
    assert.equal(decide({ verb: 'list', resource: 'secrets' }).reason, 'can only read namespaced object of this type');
    assert.equal(
      decide({ verb: 'update', resource: 'secrets', namespace: 'default', name: 'pull' }).reason,
      'can only read resources of this type',
    );
    reader.remove(pods, { namespace: 'default', name: 'web' });
    assert.ok(!allows({ resource: 'secrets', namespace: 'default', name: 'pull' }));
  });

  it('grants nothing for mirror pods, which nodes create themselves', () => {
    const { reader, allows } = setUp();
    const mirror = rich();
    reader.put(pods, {
      ...mirror,
      metadata: { ...mirror.metadata, annotations: { 'kubernetes.io/config.mirror': 'x' } },
    });
    assert.ok(!allows({ resource: 'secrets', namespace: 'default', name: 'pull' }));
    assert.ok(allows({ namespace: 'default', name: 'web' }), 'but the pod itself');
    reader.put(pods, mirror);
    reader.remove(pods, { namespace: 'default', name: 'web' });
    assert.ok(
      !allows({ resource: 'secrets', namespace: 'default', name: 'pull' }),
      'and nothing stays when the mark comes and goes',
    );
  });

  it('follows claims to volumes and to the secrets of their drivers on nodes', () => {
    const { reader, allows } = setUp();
    reader.put(pods, rich());
    const csi = {
      driver: 'd',
      volumeHandle: 'h',
      nodeStageSecretRef: { name: 'stage', namespace: 'csi' },
      controllerPublishSecretRef: { name: 'control', namespace: 'csi' },
    };
    reader.put(
      persistentVolumes,
      volume('mine', 'claim', { csi }),
      volume('other', 'none', { csi: { ...csi, nodeStageSecretRef: { name: 'far', namespace: 'csi' } } }),
      volume('iscsi', 'claim', { iscsi: { targetPortal: '', iqn: '', lun: 0, secretRef: { name: 'chap' } } }),
    );
    assert.ok(allows({ resource: 'persistentvolumes', name: 'mine' }));
    assert.ok(!allows({ resource: 'persistentvolumes', name: 'other' }));
    const secret = (namespace: string, name: string) => allows({ resource: 'secrets', namespace, name });
    assert.deepEqual(
      [secret('csi', 'stage'), secret('csi', 'control'), secret('csi', 'far'), secret('default', 'chap')],
      [true, false, false, true],
    );
    reader.put(persistentVolumes, volume('mine', undefined, { csi }));
    assert.deepEqual([allows({ resource: 'persistentvolumes', name: 'mine' }), secret('csi', 'stage')], [false, false]);
    reader.put(volumeAttachments, {
      metadata: { name: 'va', namespace: '', uid: '' },
      spec: { attacher: 'd', nodeName: 'n1', source: {} },
    });
    assert.deepEqual(
      [
        allows({ apiGroup: 'storage.k8s.io', resource: 'volumeattachments', name: 'va' }),
        allows({ apiGroup: 'storage.k8s.io', resource: 'volumeattachments', name: 'vb' }),
      ],
      [true, false],
    );
  });

  it('answers as upstream does, row by row', () => {
    const { reader, decide } = setUp();
    reader.put(pods, rich());
    const lease = { apiGroup: 'coordination.k8s.io', resource: 'leases', namespace: 'kube-node-lease' };
    const csiNode = { apiGroup: 'storage.k8s.io', resource: 'csinodes' };
    const rows: [request: Partial<AuthorizationAttributes>, answer: string][] = [
      [{ resource: 'nodes', name: 'n1' }, 'allow'],
      [{ resource: 'nodes', name: 'n2' }, "node 'n1' cannot read 'n2', only its own Node object"],
      [{ resource: 'nodes', verb: 'list' }, "node 'n1' cannot read all nodes, only its own Node object"],
      [{ resource: 'nodes', verb: 'watch', name: 'n1' }, 'allow'],
      [{ resource: 'nodes', verb: 'create' }, 'allow'],
      [{ resource: 'nodes', verb: 'patch', name: 'n1', subresource: 'status' }, 'allow'],
      [{ resource: 'nodes', verb: 'delete', name: 'n1' }, ''],
      [{ resource: 'nodes', verb: 'get', name: 'n1', subresource: 'proxy' }, ''],
      [{ verb: 'list', fieldSelector: 'spec.nodeName=n1' }, 'allow'],
      [{ verb: 'watch', fieldSelector: 'status.phase!=Failed,spec.nodeName==n1' }, 'allow'],
      [
        { verb: 'list', fieldSelector: 'spec.nodeName=n2' },
        'can only list/watch pods with spec.nodeName field selector',
      ],
      [
        { verb: 'list', fieldSelector: 'spec.nodeName!=n1' },
        'can only list/watch pods with spec.nodeName field selector',
      ],
      [{ verb: 'list' }, 'can only list/watch pods with spec.nodeName field selector'],
      [{ verb: 'watch', namespace: 'default', name: 'web' }, 'allow'],
      [{ namespace: 'default', name: 'web' }, 'allow'],
      [{ namespace: 'default', name: 'other' }, "no relationship found between node 'n1' and this object"],
      [{ verb: 'create', namespace: 'default' }, 'allow'],
      [{ verb: 'delete', namespace: 'default', name: 'web' }, 'allow'],
      [{ verb: 'update', namespace: 'default', name: 'web' }, ''],
      [{ verb: 'patch', namespace: 'default', name: 'web', subresource: 'status' }, 'allow'],
      [{ verb: 'create', namespace: 'default', name: 'web', subresource: 'eviction' }, 'allow'],
      [{ verb: 'create', namespace: 'default', name: 'web', subresource: 'exec' }, ''],
      [{ ...lease, name: 'n1' }, 'allow'],
      [
        { ...lease, name: 'n2', verb: 'update' },
        'can only access node lease with the same name as the requesting node',
      ],
      [{ ...lease, verb: 'create' }, 'allow'],
      [{ ...lease, verb: 'list' }, 'can only get, create, update, patch, or delete a node lease'],
      [
        { ...lease, namespace: 'kube-system', name: 'n1' },
        'can only access leases in the "kube-node-lease" system namespace',
      ],
      [{ ...csiNode, name: 'n1', verb: 'update' }, 'allow'],
      [{ ...csiNode, name: 'n2' }, 'can only access CSINode with the same name as the requesting node'],
      [{ ...csiNode, verb: 'watch' }, 'can only get, create, update, patch, or delete a CSINode'],
      [{ resource: 'serviceaccounts', namespace: 'default', name: 'robot' }, 'allow'],
      [
        { resource: 'serviceaccounts', namespace: 'default', name: 'default', verb: 'create', subresource: 'token' },
        "no relationship found between node 'n1' and this object",
      ],
      [
        { resource: 'serviceaccounts', namespace: 'default', verb: 'create' },
        'can only create tokens for individual service accounts',
      ],
      [
        {
          resource: 'persistentvolumeclaims',
          namespace: 'default',
          name: 'claim',
          verb: 'patch',
          subresource: 'status',
        },
        'allow',
      ],
      [
        { resource: 'persistentvolumeclaims', namespace: 'default', name: 'claim', verb: 'update' },
        'can only get individual resources of this type',
      ],
      [{ resource: 'services', verb: 'watch' }, 'allow'],
      [{ resource: 'services', verb: 'update', namespace: 'default', name: 'x' }, ''],
      [{ resource: 'events', verb: 'create', namespace: 'default' }, 'allow'],
      [{ apiGroup: 'certificates.k8s.io', resource: 'certificatesigningrequests', verb: 'create' }, 'allow'],
      [
        {
          apiGroup: 'certificates.k8s.io',
          resource: 'certificatesigningrequests',
          verb: 'update',
          subresource: 'approval',
          name: 'x',
        },
        '',
      ],
      [{ apiGroup: 'node.k8s.io', resource: 'runtimeclasses', verb: 'list' }, 'allow'],
      [{ apiGroup: 'authentication.k8s.io', resource: 'tokenreviews', verb: 'create' }, 'allow'],
      [
        { apiGroup: 'resource.k8s.io', resource: 'resourceslices', verb: 'deletecollection' },
        'can only list/watch/deletecollection resourceslices with nodeName field selector',
      ],
      [
        {
          apiGroup: 'resource.k8s.io',
          resource: 'resourceslices',
          verb: 'deletecollection',
          fieldSelector: 'spec.nodeName=n1',
        },
        'allow',
      ],
      [{ apiGroup: 'resource.k8s.io', resource: 'resourceslices', verb: 'create' }, 'allow'],
      [{ resourceRequest: false, path: '/metrics', resource: '' }, ''],
    ];
    for (const [request, answer] of rows) {
      const { decision, reason } = decide(request);
      assert.equal(decision === 'allow' ? 'allow' : reason, answer, JSON.stringify(request));
    }
  });
});

const anyPod = fc.record({
  name: fc.constantFrom('a', 'b', 'c'),
  node: fc.constantFrom('', 'n1', 'n2'),
  secrets: fc.subarray(['s1', 's2']),
  claim: fc.constantFrom('', 'c1', 'c2'),
  mirror: fc.boolean(),
  removed: fc.boolean(),
});
const anyVolume = fc.record({
  name: fc.constantFrom('v1', 'v2'),
  claim: fc.constantFrom(undefined, 'c1', 'c2'),
  secret: fc.constantFrom('s1', 's2'),
  removed: fc.boolean(),
});

it('after any history, the graph decides as a search of the current pods and volumes does', () => {
  fc.assert(
    fc.property(fc.array(anyPod, { maxLength: 8 }), fc.array(anyVolume, { maxLength: 4 }), (history, volumes) => {
      const { reader, allows } = setUp();
      for (const { name, node, secrets, claim, mirror, removed } of history) {
        const spec = {
          'spec.nodeName': node,
          'spec.imagePullSecrets': secrets.map((secret) => ({ name: secret })),
          'spec.volumes': claim === '' ? [] : [{ name: 'v', persistentVolumeClaim: { claimName: claim } }],
        };
        reader.put(
          pods,
          buildPod({
            'metadata.name': name,
            ...spec,
            ...(mirror && { 'metadata.annotations': { 'kubernetes.io/config.mirror': 'x' } }),
          }),
        );
        if (removed) reader.remove(pods, { namespace: 'default', name });
      }
      for (const { name, claim, secret, removed } of volumes) {
        reader.put(
          persistentVolumes,
          volume(name, claim, {
            csi: { driver: 'd', volumeHandle: 'h', nodePublishSecretRef: { name: secret, namespace: 'default' } },
          }),
        );
        if (removed) reader.remove(persistentVolumes, { namespace: '', name });
      }
      const mine = reader
        .list(pods, '')
        .filter(
          ({ spec, metadata }) =>
            spec.nodeName === 'n1' && metadata.annotations?.['kubernetes.io/config.mirror'] === undefined,
        );
      const claims = new Set(
        mine.flatMap(({ spec }) => (spec.volumes ?? []).map((each) => each.persistentVolumeClaim?.claimName)),
      );
      const bound = reader
        .list(persistentVolumes, '')
        .filter(({ spec }) => spec.claimRef !== undefined && claims.has(spec.claimRef.name));
      for (const name of ['s1', 's2']) {
        const expected =
          mine.some(({ spec }) => spec.imagePullSecrets?.some((each) => each.name === name) === true) ||
          bound.some(({ spec }) => spec.csi?.nodePublishSecretRef?.name === name);
        assert.equal(allows({ resource: 'secrets', namespace: 'default', name }), expected);
      }
      for (const name of ['v1', 'v2'])
        assert.equal(
          allows({ resource: 'persistentvolumes', name }),
          bound.some(({ metadata }) => metadata.name === name),
        );
    }),
    { numRuns: 500 },
  );
});
