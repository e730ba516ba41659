import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import {
  certificateSigningRequests,
  csiDrivers,
  csiNodes,
  leases,
  nodes,
  persistentVolumeClaims,
  persistentVolumes,
  podCertificateRequests,
  pods,
  resourceSlices,
  serviceAccounts,
} from '../../api/client/resource-types.ts';
import type { ApiObject, ResourceType } from '../../api/client/resource-type.ts';
import type { Node } from '../../api/core/node.ts';
import { ApiStatusError } from '../../api/status/api-status-error.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import type { AdmissionAttributes } from '../model/admission.ts';
import type { ResourceDefinition } from '../model/resource-definition.ts';
import { FakeObjectReader } from '../model/testing/fake-object-reader.ts';
import { createNodeRestriction } from './node-restriction.ts';

interface Write {
  readonly object?: ApiObject;
  readonly old?: ApiObject;
  readonly subresource?: string;
  readonly name?: string;
  readonly operation?: AdmissionAttributes['operation'];
  readonly user?: string;
}

const node = (metadata: object = {}, spec: object = {}): Node => ({
  metadata: { name: 'n1', namespace: '', uid: 'node-uid', ...metadata },
  spec,
  status: {},
});
const mirror = (changes: Changes = {}): ReturnType<typeof buildPod> =>
  buildPod({
    'metadata.annotations': { 'kubernetes.io/config.mirror': 'x' },
    'metadata.ownerReferences': [{ apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'node-uid', controller: true }],
    'spec.nodeName': 'n1',
    ...changes,
  });

function setUp(allowed: readonly string[] = []) {
  const reader = new FakeObjectReader();
  const plugin = createNodeRestriction({
    reader,
    authorizer: {
      name: 'x',
      authorize: ({ verb, resource }) => ({
        decision: allowed.includes(`${verb} ${resource}`) ? 'allow' : 'noOpinion',
        reason: '',
      }),
    },
    readCommonName: (request) => {
      if (!request.startsWith('CN=')) throw new Error('rubbish');
      return request.slice(3);
    },
  });
  const write = async (
    type: ResourceType,
    { object, old, subresource = '', name, operation, user = 'system:node:n1' }: Write,
  ): Promise<string> => {
    const context = {
      user: { name: user, groups: ['system:nodes'] },
      dryRun: false,
      fieldManager: '',
      fieldValidation: 'Strict',
      warn: () => {},
      annotate: () => {},
    } as const;
    const { namespace = '', name: ownName = '' } = (object ?? old)?.metadata ?? {};
    const made = operation ?? (object === undefined ? 'DELETE' : old === undefined ? 'CREATE' : 'UPDATE');
    const attributes: AdmissionAttributes = {
      operation: made,
      definition: { type } as unknown as ResourceDefinition,
      subresource,
      namespace,
      name: name ?? ownName,
      object,
      oldObject: old,
      options: {},
      context,
    };
    if (!plugin.handles(attributes)) return 'not a node';
    try {
      await plugin.validate?.(attributes);
      return 'allowed';
    } catch (error) {
      assert.ok(error instanceof ApiStatusError);
      return error.reason === 'Forbidden'
        ? error.message.slice(error.message.indexOf('is forbidden: ') + 14)
        : error.message;
    }
  };
  return { reader, write };
}

describe('NodeRestriction', () => {
  it('only applies to nodes', async () => {
    const { write } = setUp();
    assert.equal(await write(nodes, { object: node(), user: 'jane' }), 'not a node');
    assert.equal(
      await write(nodes, { object: node(), user: 'system:node:' }),
      'could not determine node from user "system:node:"',
    );
  });

  it('lets a node register and report itself, and no other node', async () => {
    const { write } = setUp();
    assert.equal(await write(nodes, { object: node() }), 'allowed');
    assert.equal(await write(nodes, { object: node({ name: 'n2' }) }), 'node "n1" is not allowed to modify node "n2"');
    assert.equal(await write(nodes, { object: node(), old: node(), subresource: 'status' }), 'allowed');
  });

  it('stops a node from attracting workloads with labels or taints, and from deleting itself through an owner reference', async () => {
    const { write } = setUp();
    const labels = (set: Record<string, string>): Node => node({ labels: set });
    const good = {
      'kubernetes.io/hostname': 'n1',
      'topology.kubernetes.io/zone': 'a',
      'node.kubernetes.io/x': '',
      'a.kubelet.kubernetes.io/y': '',
      mine: '',
      'example.com/z': '',
    };
    assert.equal(await write(nodes, { object: labels(good) }), 'allowed');
    const bad = {
      'node-restriction.kubernetes.io/a': '',
      'x.node-restriction.kubernetes.io/b': '',
      'node-role.kubernetes.io/control-plane': '',
      'foo.k8s.io/c': '',
    };
    const names = Object.keys(bad).sort().join(', ');
    assert.equal(
      await write(nodes, { object: labels({ ...good, ...bad }) }),
      `node "n1" is not allowed to set the following labels: ${names}`,
    );
    assert.equal(
      await write(nodes, { object: labels(good), old: labels({ ...good, ...bad }) }),
      `is not allowed to modify labels: ${names}`,
    );
    assert.equal(
      await write(nodes, { object: labels({ ...bad, mine: '1' }), old: labels(bad) }),
      'allowed',
      'what others set may stay',
    );
    const taints = [{ key: 'a', effect: 'NoSchedule' }];
    assert.equal(
      await write(nodes, { object: node({}, {}), old: node({}, { taints }) }),
      'node "n1" is not allowed to modify taints',
    );
    assert.equal(await write(nodes, { object: node({}, { taints: [] }), old: node() }), 'allowed');
    const owner = { ownerReferences: [{ apiVersion: 'v1', kind: 'ConfigMap', name: 'gone', uid: 'u' }] };
    assert.equal(
      await write(nodes, { object: node(owner), old: node() }),
      'node "n1" is not allowed to modify ownerReferences',
    );
    assert.match(await write(nodes, { object: node({}, { configSource: {} }) }), /non-nil configSource/);
  });

  it('lets a node keep or remove its configSource and delete itself, but not set a source', async () => {
    const { write } = setUp();
    const sourced = (name: string): Node => node({}, { configSource: { configMap: { name } } });
    const set = 'node "n1" is not allowed to update configSource to a new non-nil configSource';
    assert.deepEqual(
      [
        await write(nodes, { object: sourced('a'), old: node() }),
        await write(nodes, { object: sourced('a'), old: { ...node(), spec: undefined } as unknown as Node }),
        await write(nodes, { object: sourced('b'), old: sourced('a') }),
        await write(nodes, { object: sourced('a'), old: sourced('a') }),
        await write(nodes, { object: node(), old: sourced('a') }),
        await write(nodes, { old: node() }),
        await write(nodes, { old: node({ name: 'n2' }) }),
      ],
      [set, set, set, 'allowed', 'allowed', 'allowed', 'node "n1" is not allowed to modify node "n2"'],
    );
  });

  it('lets a node write its own CSINode and resource slices, and those of no other node', async () => {
    const { write } = setUp();
    const csiNode = (name: string) => ({ metadata: { name, namespace: '', uid: '' }, spec: { drivers: [] } });
    const slice = (nodeName?: string) =>
      ({ metadata: { name: 's', namespace: '', uid: '' }, spec: { driver: 'd', nodeName } }) as ApiObject;
    const foreign = 'can only access CSINode with the same name as the requesting node';
    const sliceOf = (verb: string): string =>
      `can only ${verb} ResourceSlice with the same NodeName as the requesting node`;
    assert.deepEqual(
      [
        await write(csiNodes, { object: csiNode('n1'), name: '' }),
        await write(csiNodes, { object: csiNode('n2'), name: 'n1' }),
        await write(csiNodes, { object: csiNode('n1'), old: csiNode('n1') }),
        await write(csiNodes, { old: csiNode('n2') }),
        await write(resourceSlices, { object: slice('n1') }),
        await write(resourceSlices, { object: slice('n2') }),
        await write(resourceSlices, { object: slice() }),
        await write(resourceSlices, { old: slice('n1') }),
        await write(resourceSlices, { old: slice('n2') }),
        await write(resourceSlices, { object: slice('n1'), old: slice('n1') }),
      ],
      [
        'allowed',
        foreign,
        'allowed',
        foreign,
        'allowed',
        sliceOf('create'),
        sliceOf('create'),
        'allowed',
        sliceOf('delete'),
        'allowed',
      ],
    );
  });

  it('accepts mirror pods of the node itself that refer to no API objects', async () => {
    const { reader, write } = setUp();
    assert.equal(await write(pods, { object: mirror() }), 'nodes "n1" not found');
    reader.put(nodes, node());
    assert.equal(await write(pods, { object: mirror() }), 'allowed');
    const rows: [change: Changes, refusal: string][] = [
      [
        { 'metadata.annotations': undefined },
        'pod does not have "kubernetes.io/config.mirror" annotation, node "n1" can only create mirror pods',
      ],
      [{ 'spec.nodeName': 'n2' }, 'node "n1" can only create pods with spec.nodeName set to itself'],
      [
        { 'metadata.ownerReferences': undefined },
        'node "n1" can only create pods with an owner reference set to itself',
      ],
      ...[{ name: 'n2' }, { kind: 'Pod' }, { apiVersion: 'v2' }].map((change): [Changes, string] => {
        const [[field, value] = ['', '']] = Object.entries(change);
        return [
          { [`metadata.ownerReferences[0].${field}`]: value },
          'node "n1" can only create pods with an owner reference set to itself',
        ];
      }),
      [
        { 'metadata.ownerReferences[0].controller': false },
        'node "n1" can only create pods with a controller owner reference set to itself',
      ],
      [
        { 'metadata.ownerReferences[0].blockOwnerDeletion': true },
        'node "n1" must not set blockOwnerDeletion on an owner reference',
      ],
      [{ 'metadata.ownerReferences[0].uid': 'other' }, 'node n1 UID mismatch: expected other got node-uid'],
      [
        { 'metadata.ownerReferences[1]': { apiVersion: 'v1', kind: 'Node', name: 'n1', uid: 'x' } },
        'node "n1" can only create pods with a single owner reference set to itself',
      ],
    ];
    for (const [change, refusal] of rows) assert.equal(await write(pods, { object: mirror(change) }), refusal);
    const references: [change: Changes, what: string][] = [
      [{ 'spec.serviceAccountName': 'a' }, 'serviceaccounts'],
      [{ 'spec.imagePullSecrets': [{ name: 'a' }] }, 'secrets'],
      [
        { 'spec.ephemeralContainers': [{ name: 'e', image: 'x', envFrom: [{ configMapRef: { name: 'a' } }] }] },
        'configmaps',
      ],
      [{ 'spec.volumes': [{ name: 'v', persistentVolumeClaim: { claimName: 'a' } }] }, 'persistentvolumeclaims'],
      [
        { 'spec.volumes': [{ name: 'v', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
        'persistentvolumeclaims (via ephemeral volumes)',
      ],
      [{ 'spec.volumes': [{ name: 'v', csi: { driver: 'd' } }] }, 'csidrivers (via CSI volumes)'],
      [
        { 'spec.volumes': [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 'p' } }] } }] },
        'serviceaccounts (via projected volumes)',
      ],
    ];
    for (const [change, what] of references)
      assert.equal(
        await write(pods, { object: mirror(change) }),
        `node "n1" can not create pods that reference ${what}`,
      );
    const harmless = {
      'spec.volumes': [
        { name: 'a', hostPath: { path: '/a' } },
        { name: 'b', emptyDir: {} },
        { name: 'c', projected: { sources: [{ downwardAPI: {} }] } },
      ],
    };
    assert.equal(await write(pods, { object: mirror(harmless) }), 'allowed');
  });

  it('lets a node delete, evict and report the pods bound to it', async () => {
    const { reader, write } = setUp();
    const [mine, other] = [
      buildPod({ 'spec.nodeName': 'n1' }),
      buildPod({ 'metadata.name': 'other', 'spec.nodeName': 'n2' }),
    ];
    reader.put(pods, mine, other);
    assert.equal(await write(pods, { old: mine }), 'allowed');
    assert.equal(await write(pods, { old: other }), 'node "n1" can only delete pods with spec.nodeName set to itself');
    assert.equal(await write(pods, { old: buildPod({ 'metadata.name': 'gone' }) }), 'pods "gone" not found');
    assert.match(await write(pods, { object: mine, old: mine }), /^unexpected operation "UPDATE"/);
    const evict = (name: string) =>
      write(pods, { object: { metadata: { name, namespace: 'default', uid: '' } }, subresource: 'eviction' });
    assert.deepEqual(
      [await evict('web'), await evict('other')],
      ['allowed', 'node n1 can only evict pods with spec.nodeName set to itself'],
    );
    assert.equal(
      await write(pods, {
        object: { ...mine, status: { phase: 'Running' } } as ApiObject,
        old: mine,
        subresource: 'status',
      }),
      'allowed',
    );
    assert.equal(
      await write(pods, { object: other, old: other, subresource: 'status' }),
      'node "n1" can only update pod status for pods with spec.nodeName set to itself',
    );
    const relabelled = { ...mine, metadata: { ...mine.metadata, labels: { a: 'b' } } };
    assert.equal(
      await write(pods, { object: relabelled, old: mine, subresource: 'status' }),
      'node "n1" cannot update labels through pod status',
    );
    const claimed = (status: object): ApiObject => ({ ...mine, status: { ...mine.status, ...status } }) as ApiObject;
    for (const [status, what] of [
      [{ resourceClaimStatuses: [{ name: 'gpu', resourceClaimName: 'c' }] }, 'resource claim statues'],
      [{ extendedResourceClaimStatus: { resourceClaimName: 'c' } }, 'extended resource claim status'],
    ] as const) {
      const said = `node "n1" cannot update ${what}`;
      assert.equal(await write(pods, { object: claimed(status), old: mine, subresource: 'status' }), said);
      assert.equal(await write(pods, { object: mine, old: claimed(status), subresource: 'status' }), said);
      assert.equal(
        await write(pods, { object: claimed(status), old: claimed(status), subresource: 'status' }),
        'allowed',
      );
    }
    const empty = claimed({ resourceClaimStatuses: [] });
    assert.equal(await write(pods, { object: empty, old: mine, subresource: 'status' }), 'allowed');
    assert.match(
      await write(pods, { object: mine, old: mine, subresource: 'ephemeralcontainers' }),
      /only 'status' and 'eviction' are allowed/,
    );
    assert.deepEqual(
      [
        await write(pods, { object: mine, subresource: 'status' }),
        await write(pods, { object: mine, old: mine, subresource: 'eviction' }),
        await write(pods, { object: mine, subresource: 'eviction', name: 'other' }),
        await write(pods, { object: mine, operation: 'CONNECT', subresource: 'exec' }),
      ],
      [
        'unexpected operation "CREATE"',
        'unexpected operation UPDATE',
        'node n1 can only evict pods with spec.nodeName set to itself',
        'not a node',
      ],
    );
  });

  it('issues tokens for pods on the node, for the audiences that they request', async () => {
    const { reader, write } = setUp(['request-serviceaccounts-token-audience extra']);
    const projected = (audience?: string) => ({
      name: `p-${audience ?? ''}`,
      projected: { sources: [{ serviceAccountToken: { path: 't', ...(audience !== undefined && { audience }) } }] },
    });
    const volumes = [
      projected(),
      projected('vault'),
      { name: 'c', persistentVolumeClaim: { claimName: 'claim' } },
      { name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: {} } } },
      { name: 'inline', csi: { driver: 'inline' } },
      { name: 'waits', persistentVolumeClaim: { claimName: 'unbound' } },
      { name: 'lost', persistentVolumeClaim: { claimName: 'gone' } },
    ];
    reader.put(
      pods,
      buildPod({ 'metadata.uid': 'u1', 'spec.nodeName': 'n1', 'spec.volumes': volumes }),
      buildPod({ 'metadata.name': 'far', 'metadata.uid': 'u2', 'spec.nodeName': 'n2' }),
    );
    const claims = { claim: 'pv', 'web-tmp': 'pv-tmp', unbound: '' };
    for (const [name, volumeName] of Object.entries(claims))
      reader.put(persistentVolumeClaims, { metadata: { name, namespace: 'default', uid: '' }, spec: { volumeName } });
    for (const [name, driver] of Object.entries({ pv: 'd', 'pv-tmp': 'tmp' }))
      reader.put(persistentVolumes, {
        metadata: { name, namespace: '', uid: '' },
        spec: { csi: { driver, volumeHandle: 'h' } },
      });
    for (const [name, audience] of Object.entries({ d: 'csi', tmp: 'csi-tmp', inline: 'csi-inline' }))
      reader.put(csiDrivers, {
        metadata: { name, namespace: '', uid: '' },
        spec: { tokenRequests: [{ audience }] },
      });
    const token = (boundObjectRef: object | undefined, ...audiences: string[]) =>
      write(serviceAccounts, {
        object: {
          metadata: { name: '', namespace: 'default', uid: '' },
          spec: { audiences, boundObjectRef },
        } as ApiObject,
        subresource: 'token',
        name: 'robot',
      });
    const bound = { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u1' };
    for (const audiences of [[], ['vault'], ['csi'], ['csi-tmp'], ['csi-inline'], ['extra']])
      assert.equal(await token(bound, ...audiences), 'allowed', audiences.join());
    assert.equal(
      await token(bound, 'other'),
      'audience "other" not found in pod spec volume, system:node:n1 is not authorized to request tokens for this audience',
    );
    assert.equal(await token(bound, 'vault', 'csi'), 'node may only request 0 or 1 audiences');
    assert.equal(await token(undefined), 'node requested token not bound to a pod');
    assert.equal(await token({ ...bound, kind: 'Node' }), 'node requested token not bound to a pod');
    assert.equal(await token({ ...bound, apiVersion: 'v2' }), 'node requested token not bound to a pod');
    assert.equal(await token({ ...bound, name: undefined }), 'node requested token not bound to a pod');
    assert.equal(await token({ ...bound, name: 'gone' }), 'pods "gone" not found');
    assert.equal(await token({ ...bound, uid: undefined }), 'node requested token with a pod binding without a uid');
    assert.match(await token({ ...bound, uid: 'u9' }), /^the UID in the bound object reference \(u9\) does not match/);
    assert.equal(
      await token({ ...bound, name: 'far', uid: 'u2' }),
      'node requested token bound to a pod scheduled on a different node',
    );
  });

  it('leaves service accounts and their tokens alone where no token is created, and slices that are updated', async () => {
    const { write } = setUp();
    const account = { metadata: { name: 'robot', namespace: 'default', uid: '' }, spec: {} } as ApiObject;
    const foreign = { metadata: { name: 's', namespace: '', uid: '' }, spec: { nodeName: 'n2' } } as ApiObject;
    assert.deepEqual(
      [
        await write(serviceAccounts, { object: account }),
        await write(serviceAccounts, { object: account, old: account }),
        await write(serviceAccounts, { object: account, old: account, subresource: 'token' }),
        await write(resourceSlices, { object: foreign, old: foreign }),
        await write(csiDrivers, { object: { ...foreign, metadata: { name: 'd', namespace: '', uid: '' } } }),
      ],
      ['allowed', 'allowed', 'allowed', 'allowed', 'allowed'],
    );
  });

  it('lets a node report the size of a claim, and change nothing else in it', async () => {
    const { write } = setUp();
    const claim = (status: object, labels: Record<string, string> = {}) => ({
      metadata: { name: 'c', namespace: 'default', uid: '', labels, resourceVersion: JSON.stringify(status) },
      spec: {},
      status,
    });
    assert.equal(
      await write(persistentVolumeClaims, {
        object: claim({ phase: 'Bound', capacity: { storage: '2Gi' }, conditions: [] }),
        old: claim({ phase: 'Bound' }),
        subresource: 'status',
      }),
      'allowed',
    );
    assert.match(
      await write(persistentVolumeClaims, {
        object: claim({ phase: 'Lost' }),
        old: claim({ phase: 'Bound' }),
        subresource: 'status',
      }),
      /not allowed to update fields other than status\.quantity and status\.conditions/,
    );
    assert.match(
      await write(persistentVolumeClaims, { object: claim({}, { a: 'b' }), old: claim({}), subresource: 'status' }),
      /not allowed to update fields/,
    );
    assert.equal(
      await write(persistentVolumeClaims, { object: claim({}), old: claim({}) }),
      'may only update PVC status',
    );
    assert.equal(
      await write(persistentVolumeClaims, { object: claim({}), subresource: 'status' }),
      'unexpected operation "CREATE"',
    );
  });

  it('lets a node have its own lease, and request certificates for itself', async () => {
    const { write } = setUp();
    const lease = (name: string, namespace = 'kube-node-lease') => ({
      metadata: { name, namespace, uid: '' },
      spec: {},
    });
    assert.equal(await write(leases, { object: lease('n1') }), 'allowed');
    assert.equal(
      await write(leases, { object: lease('n2') }),
      'can only access node lease with the same name as the requesting node',
    );
    assert.equal(
      await write(leases, { object: lease('n1', 'default') }),
      'can only access leases in the "kube-node-lease" system namespace',
    );
    const csr = (commonName: string, signerName = 'kubernetes.io/kubelet-serving') =>
      write(certificateSigningRequests, {
        object: {
          metadata: { name: 'csr', namespace: '', uid: '' },
          spec: { request: Buffer.from(commonName).toString('base64'), signerName, usages: [] },
        } as ApiObject,
      });
    assert.equal(await csr('CN=system:node:n1'), 'allowed');
    assert.equal(await csr('CN=system:node:n2'), 'can only create a node CSR with CN=system:node:n1');
    assert.equal(await csr('CN=anybody', 'example.com/x'), 'allowed');
    assert.equal(await csr('?'), 'unable to parse csr: rubbish');
    assert.equal(
      await csr('CN=jane', 'kubernetes.io/kube-apiserver-client-kubelet'),
      'can only create a node CSR with CN=system:node:n1',
    );
  });

  it('lets a node request certificates only for pods that run there, with their real names', async () => {
    const { write, reader } = setUp();
    reader.put(nodes, node());
    reader.put(
      pods,
      buildPod({ 'metadata.name': 'p', 'spec.nodeName': 'n1', 'spec.serviceAccountName': 'sa' }),
      buildPod({ 'metadata.name': 'far', 'spec.nodeName': 'n2', 'spec.serviceAccountName': 'sa' }),
      mirror({ 'metadata.name': 'mirror', 'spec.serviceAccountName': 'sa' }),
    );
    reader.put(serviceAccounts, { metadata: { name: 'sa', namespace: 'default', uid: 'sa-uid' } });
    const podUid = reader.get(pods, { namespace: 'default', name: 'p' })?.metadata.uid ?? '';
    const right = {
      signerName: 'example.com/foo',
      podName: 'p',
      podUID: podUid,
      serviceAccountName: 'sa',
      serviceAccountUID: 'sa-uid',
      nodeName: 'n1',
      nodeUID: 'node-uid',
    };
    const ask = (changes: object = {}, more: Partial<Write> = {}): Promise<string> =>
      write(podCertificateRequests, {
        object: { metadata: { name: 'r', namespace: 'default', uid: '' }, spec: { ...right, ...changes } } as ApiObject,
        ...more,
      });
    assert.equal(await ask(), 'allowed');
    for (const [changes, why] of [
      [{ nodeName: 'n2' }, /"n2", which is not the requesting node "n1"/],
      [{ nodeUID: 'old' }, /names node UID "old", inconsistent with the running node \(node-uid\)/],
      [{ podName: 'gone' }, /while retrieving pod "default\/gone" named in the PodCertificateRequest, not found/],
      [{ podUID: 'old' }, /contains pod UID \("old"\), which differs from running pod/],
      [{ podName: 'far' }, /is not running on node "n1"/],
      [{ podName: 'mirror' }, /pod "default\/mirror" is a mirror pod/],
      [
        { serviceAccountName: 'admin' },
        /contains serviceAccountName \("admin"\) that differs from running pod \("sa"\)/,
      ],
      [{ serviceAccountUID: 'old' }, /names service account UID "old"/],
    ] as const)
      assert.match(await ask(changes), why);
    assert.match(await ask({}, { operation: 'UPDATE' }), /unexpected operation UPDATE/);
    assert.match(await ask({}, { subresource: 'status' }), /unexpected subresource status/);
  });
});
