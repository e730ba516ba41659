import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { matchesLabelSelector } from '../../../api/selectors.ts';
import { EnoughStorage } from './storage-capacity.ts';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { Node } from '../../../api/core/node.ts';
import type { Pod } from '../../../api/core/pod.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import type { CSIStorageCapacity } from '../../../api/storage/csi-storage-capacity.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import { podInfoOf } from '../framework/pod-info.ts';
import type { Plugin } from '../framework/plugin.ts';
import { bound, buildNode, buildPod, cacheOf } from '../testing/builders.ts';
import type { ObjectLists } from '../testing/builders.ts';
import { nodeVolumeLimits } from './node-volume-limits.ts';
import { volumeBinding } from './volume-binding.ts';
import { volumeRestrictions } from './volume-restrictions.ts';
import { volumeZone } from './volume-zone.ts';

const nodes = [
  buildNode('a', { labels: { 'topology.kubernetes.io/zone': 'one' } }),
  buildNode('b', { labels: { 'topology.kubernetes.io/zone': 'two' } }),
  buildNode('c'),
];

function filterAll(
  plugin: Plugin,
  pod: Pod,
  { there = [], ...lists }: ObjectLists & { readonly there?: readonly Pod[]; readonly nodes?: readonly Node[] },
): readonly string[] | string {
  const cache = cacheOf({ nodes, ...lists, pods: there });
  const result = plugin.preFilter?.(podInfoOf(pod), cache);
  if (result === undefined || result.kind === 'skip') return 'skip';
  if (result.kind === 'rejected') return result.rejection.reasons.join('; ');
  return cache.nodes().map((node) => result.check.filter(node)?.reasons.join('; ') ?? '');
}

const using = (name: string, ...claims: readonly string[]): Pod =>
  buildPod(name, {
    spec: { volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })) },
  });
const claimOf = (
  name: string,
  spec: PersistentVolumeClaim['spec'],
  more: Partial<PersistentVolumeClaim> & { readonly annotations?: Record<string, string> } = {},
): PersistentVolumeClaim => {
  const { annotations, ...rest } = more;
  return {
    metadata: { name, namespace: 'default', uid: `claim-${name}`, ...(annotations !== undefined && { annotations }) },
    spec: { resources: { requests: { storage: '5Gi' } }, ...spec },
    ...rest,
  };
};
const boundClaim = (
  name: string,
  volumeName: string,
  spec: PersistentVolumeClaim['spec'] = {},
): PersistentVolumeClaim =>
  claimOf(name, { volumeName, ...spec }, { annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } });
const onNode = (name: string): PersistentVolume['spec'] => ({
  nodeAffinity: {
    required: {
      nodeSelectorTerms: [{ matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'In', values: [name] }] }],
    },
  },
});
const volumeOf = (
  name: string,
  spec: PersistentVolume['spec'] = {},
  labels: Record<string, string> = {},
): PersistentVolume => ({
  metadata: { name, namespace: '', uid: `pv-${name}`, labels },
  spec: { capacity: { storage: '10Gi' }, accessModes: ['ReadWriteOnce'], storageClassName: 'wait', ...spec },
  status: { phase: 'Available' },
});
const wait: StorageClass = {
  metadata: { name: 'wait', namespace: '', uid: 'sc' },
  provisioner: 'kubernetes.io/no-provisioner',
  volumeBindingMode: 'WaitForFirstConsumer',
};
const dynamic: StorageClass = {
  ...wait,
  metadata: { ...wait.metadata, name: 'dynamic' },
  provisioner: 'csi.example.com',
  allowedTopologies: [{ matchLabelExpressions: [{ key: 'topology.kubernetes.io/zone', values: ['two'] }] }],
};
const waiting = (
  name: string,
  spec: PersistentVolumeClaim['spec'] = {},
  annotations?: Record<string, string>,
): PersistentVolumeClaim =>
  claimOf(
    name,
    { storageClassName: 'wait', accessModes: ['ReadWriteOnce'], ...spec },
    annotations === undefined ? {} : { annotations },
  );

describe('VolumeBinding', () => {
  const noVolume = "node(s) didn't find available persistent volumes to bind";
  const check = (lists: ObjectLists, ...claims: readonly string[]): readonly string[] | string =>
    filterAll(volumeBinding, using('x', ...(claims.length === 0 ? ['data'] : claims)), {
      storageClasses: [wait, dynamic],
      ...lists,
    });
  it('skips pods without claims', () => assert.equal(filterAll(volumeBinding, buildPod('x'), {}), 'skip'));
  it('rejects nodes that cannot access the volume of a bound claim', () => {
    const reason = "node(s) didn't match PersistentVolume's node affinity";
    assert.deepEqual(check({ claims: [boundClaim('data', 'pv')], volumes: [volumeOf('pv', onNode('b'))] }), [
      reason,
      '',
      reason,
    ]);
  });
  it('rejects a claim whose volume was deleted', () => {
    const reason = 'node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)';
    assert.deepEqual(check({ claims: [boundClaim('data', 'pv')] }), [reason, reason, reason]);
  });
  it('rejects missing, lost, terminating and unbound claims', () => {
    assert.equal(check({}), 'persistentvolumeclaim "data" not found');
    assert.equal(
      check({ claims: [claimOf('data', { volumeName: 'pv' }, { status: { phase: 'Lost' } })] }),
      'persistentvolumeclaim "data" bound to non-existent persistentvolume "pv"',
    );
    const leaving = boundClaim('data', 'pv');
    assert.equal(
      check({ claims: [{ ...leaving, metadata: { ...leaving.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }] }),
      'persistentvolumeclaim "data" is being deleted',
    );
    assert.equal(check({ claims: [claimOf('data', {})] }), 'pod has unbound immediate PersistentVolumeClaims');
  });
  it('rejects an ephemeral claim that belongs to another pod', () => {
    const pod = buildPod('x', {
      spec: { volumes: [{ name: 'tmp', ephemeral: { volumeClaimTemplate: { spec: {} } } }] },
    });
    assert.equal(
      filterAll(volumeBinding, pod, {}),
      'waiting for ephemeral volume controller to create the persistentvolumeclaim "x-tmp"',
    );
    assert.equal(
      filterAll(volumeBinding, pod, { claims: [boundClaim('x-tmp', 'pv')] }),
      'PVC default/x-tmp was not created for pod default/x (pod is not owner)',
    );
  });
  it('finds volumes for waiting claims, on nodes that can access them', () => {
    assert.deepEqual(check({ claims: [waiting('data')], volumes: [volumeOf('pv', onNode('b'))] }), [
      noVolume,
      '',
      noVolume,
    ]);
    for (const unfit of [
      { capacity: { storage: '4Gi' } },
      { accessModes: ['ReadOnlyMany' as const] },
      { storageClassName: 'other' },
      { volumeMode: 'Block' as const },
      { claimRef: { namespace: 'default', name: 'other' } },
    ]) {
      assert.deepEqual(
        check({ claims: [waiting('data')], volumes: [volumeOf('pv', unfit)] }),
        [noVolume, noVolume, noVolume],
        JSON.stringify(unfit),
      );
    }
    assert.deepEqual(
      check({
        claims: [waiting('data', { selector: { matchLabels: { fast: 'yes' } } })],
        volumes: [volumeOf('slow'), volumeOf('fast', onNode('a'), { fast: 'yes' })],
      }),
      ['', noVolume, noVolume],
    );
  });
  it('assigns each volume to one claim only, and prefers the smallest suitable volume', () => {
    const claims = [waiting('big', { resources: { requests: { storage: '8Gi' } } }), waiting('small')];
    assert.deepEqual(check({ claims, volumes: [volumeOf('pv')] }, 'big', 'small'), [noVolume, noVolume, noVolume]);
    const cache = cacheOf({
      nodes,
      claims,
      storageClasses: [wait],
      volumes: [volumeOf('large'), volumeOf('little', { capacity: { storage: '6Gi' } })],
    });
    const result = volumeBinding.preFilter?.(podInfoOf(using('x', 'big', 'small')), cache);
    assert.ok(result?.kind === 'check');
    const node = cache.node('a');
    assert.ok(node !== undefined && result.check.filter(node) === undefined);
    assert.deepEqual(
      result.check
        .volumePlan?.(node)
        ?.bindings.map(({ claim, volume }) => `${claim.metadata.name} ${volume.metadata.name}`),
      ['small little', 'big large'],
    );
  });
  it('leaves a claim to its provisioner if the topology allows it, and respects the selected node', () => {
    assert.deepEqual(check({ claims: [waiting('data', { storageClassName: 'dynamic' })] }), [noVolume, '', noVolume]);
    const free = { ...dynamic, allowedTopologies: [] };
    assert.deepEqual(
      check({
        storageClasses: [free],
        claims: [waiting('data', { storageClassName: 'dynamic' }, { 'volume.kubernetes.io/selected-node': 'c' })],
      }),
      [noVolume, noVolume, ''],
    );
  });
  it('requires enough reported capacity for the node from drivers that publish it', () => {
    const noSpace = 'node(s) did not have enough free storage';
    const free = { ...dynamic, allowedTopologies: [] };
    const driver = (storageCapacity: boolean): CSIDriver => ({
      metadata: { name: 'csi.example.com', namespace: '', uid: 'd' },
      spec: { storageCapacity },
    });
    const capacity = (name: string, more: Partial<CSIStorageCapacity>): CSIStorageCapacity => ({
      metadata: { name, namespace: 'kube-system', uid: name },
      storageClassName: 'dynamic',
      capacity: '100Gi',
      ...more,
    });
    const at = (node: string) => ({ nodeTopology: { matchLabels: { 'kubernetes.io/hostname': node } } });
    const claims = [waiting('data', { storageClassName: 'dynamic', resources: { requests: { storage: '10Gi' } } })];
    const ask = (...storageCapacities: CSIStorageCapacity[]) =>
      check({ storageClasses: [free], csiDrivers: [driver(true)], claims, storageCapacities });
    assert.deepEqual(ask(), [noSpace, noSpace, noSpace]);
    assert.deepEqual(ask(capacity('one', at('b')), capacity('other', { ...at('c'), storageClassName: 'x' })), [
      noSpace,
      '',
      noSpace,
    ]);
    assert.deepEqual(
      ask(
        capacity('small', { ...at('a'), maximumVolumeSize: '9Gi' }),
        capacity('nowhere', {}),
        capacity('all', {
          nodeTopology: {
            matchExpressions: [{ key: 'kubernetes.io/hostname', operator: 'NotIn', values: ['a', 'b'] }],
          },
        }),
      ),
      [noSpace, noSpace, ''],
    );
    assert.deepEqual(check({ storageClasses: [free], csiDrivers: [driver(false)], claims }), ['', '', '']);
  });
});

it('finds the same nodes as a scan of all CSIStorageCapacity objects', () =>
  fc.assert(
    fc.property(
      fc.array(
        fc.record({
          limit: fc.option(fc.integer({ min: 0, max: 4 })),
          ofClass: fc.boolean(),
          topology: fc.constantFrom<CSIStorageCapacity['nodeTopology']>(
            undefined,
            {},
            { matchLabels: { host: 'a' } },
            { matchLabels: { host: 'b' } },
            { matchLabels: { host: 'a', zone: 'x' } },
            { matchExpressions: [{ key: 'zone', operator: 'Exists' }] },
          ),
        }),
      ),
      fc.constantFrom<Record<string, string>>({}, { host: 'a' }, { host: 'b', zone: 'y' }, { host: 'a', zone: 'x' }),
      (sketches, labels) => {
        const capacities = sketches.map(
          ({ limit, ofClass, topology }, index): CSIStorageCapacity => ({
            metadata: { name: `c-${index}`, namespace: 'default', uid: '' },
            storageClassName: ofClass ? 'mine' : 'other',
            ...(limit !== null && { capacity: `${limit}Gi` }),
            ...(topology !== undefined && { nodeTopology: topology }),
          }),
        );
        const naively = sketches.some(
          ({ limit, ofClass, topology }) =>
            ofClass && limit !== null && limit >= 2 && topology !== undefined && matchesLabelSelector(topology, labels),
        );
        assert.equal(new EnoughStorage(capacities, 'mine', '2Gi').reaches(labels), naively);
      },
    ),
  ));

describe('VolumeRestrictions', () => {
  it('allows only one pod for a ReadWriteOncePod claim', () => {
    const claims = [boundClaim('data', 'pv', { accessModes: ['ReadWriteOncePod'] })];
    const reason =
      'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod';
    assert.equal(filterAll(volumeRestrictions, using('x', 'data'), { claims }), 'skip');
    assert.deepEqual(
      filterAll(volumeRestrictions, using('x', 'data'), { claims, there: [bound(using('y', 'data'), 'a')] }),
      [reason, reason, reason],
    );
  });
  it('rejects a disk that is already on the node, unless both pods only read it', () => {
    const disk = (name: string, readOnly: boolean): Pod =>
      buildPod(name, {
        spec: { volumes: [{ name: 'd', iscsi: { targetPortal: 'p', iqn: 'iqn', lun: 0, readOnly } }] },
      });
    assert.deepEqual(filterAll(volumeRestrictions, disk('x', false), { there: [bound(disk('y', true), 'a')] }), [
      'node(s) had no available disk',
      '',
      '',
    ]);
    assert.deepEqual(filterAll(volumeRestrictions, disk('x', true), { there: [bound(disk('y', true), 'a')] }), [
      '',
      '',
      '',
    ]);
  });
  it('rejects pods with missing claims', () =>
    assert.equal(filterAll(volumeRestrictions, using('x', 'data'), {}), 'persistentvolumeclaim "data" not found'));
});

describe('VolumeZone', () => {
  const check = (
    claims: readonly PersistentVolumeClaim[],
    ...volumes: readonly PersistentVolume[]
  ): readonly string[] | string =>
    filterAll(volumeZone, using('x', 'data'), { claims, volumes, storageClasses: [wait] });
  it('rejects nodes outside the volume’s zone, if the nodes have zone labels', () => {
    const elsewhere = 'node(s) had no available volume zone';
    assert.deepEqual(
      check([boundClaim('data', 'pv')], volumeOf('pv', {}, { 'failure-domain.beta.kubernetes.io/zone': 'two' })),
      [elsewhere, '', ''],
    );
    assert.deepEqual(
      check([boundClaim('data', 'pv')], volumeOf('pv', {}, { 'topology.kubernetes.io/zone': 'one__three' })),
      ['', elsewhere, ''],
    );
  });
  it('skips claims that wait for the pod and volumes without a zone', () => {
    assert.equal(check([waiting('data')]), 'skip');
    assert.equal(check([boundClaim('data', 'pv')], volumeOf('pv')), 'skip');
  });
  it('rejects missing claims and volumes', () => {
    assert.equal(check([]), 'persistentvolumeclaim "data" not found');
    assert.equal(check([boundClaim('data', 'pv')]), 'persistentvolume "pv" not found');
    assert.equal(check([claimOf('data', {})]), 'PersistentVolumeClaim had no pv name and storageClass name');
    assert.equal(
      check([claimOf('data', { storageClassName: 'none' })]),
      'storageclass.storage.k8s.io "none" not found',
    );
  });
});

describe('NodeVolumeLimits', () => {
  const driver = 'csi.example.com';
  const csiNodes = [
    {
      metadata: { name: 'a', namespace: '', uid: 'ca' },
      spec: { drivers: [{ name: driver, nodeID: 'a', topologyKeys: [], allocatable: { count: 2 } }] },
    },
  ];
  const volumes = ['1', '2', '3'].map((number) =>
    volumeOf(`pv${number}`, { csi: { driver, volumeHandle: `h${number}` } }),
  );
  const claims = ['1', '2', '3'].map((number) => boundClaim(`c${number}`, `pv${number}`));
  const lists = { csiNodes, volumes, claims };
  const there = [bound(using('y', 'c1', 'c2'), 'a')];
  it('enforces the attach limit of a driver, and counts a shared volume once', () => {
    assert.deepEqual(filterAll(nodeVolumeLimits, using('x', 'c3'), { ...lists, there }), [
      'node(s) exceed max volume count',
      '',
      '',
    ]);
    assert.deepEqual(filterAll(nodeVolumeLimits, using('x', 'c2'), { ...lists, there }), ['', '', '']);
    assert.deepEqual(
      filterAll(nodeVolumeLimits, using('x', 'c3'), { ...lists, there: [bound(using('y', 'c1'), 'a')] }),
      ['', '', ''],
    );
  });
  it('counts in-tree cloud volumes, of claims and of pods, for their CSI driver', () => {
    const cinder = (id: string): object => ({ cinder: { volumeID: id } });
    const moved = {
      csiNodes: [
        {
          metadata: { name: 'a', namespace: '', uid: 'ca' },
          spec: {
            drivers: [{ name: 'cinder.csi.openstack.org', nodeID: 'a', topologyKeys: [], allocatable: { count: 1 } }],
          },
        },
      ],
      volumes: [volumeOf('pv1', cinder('one'))],
      claims: [boundClaim('c1', 'pv1')],
      there: [bound(using('y', 'c1'), 'a')],
    };
    const own = (id: string): Pod => ({
      ...using('x'),
      spec: { ...using('x').spec, volumes: [{ name: 'v', ...cinder(id) }] },
    });
    assert.deepEqual(filterAll(nodeVolumeLimits, own('two'), moved), ['node(s) exceed max volume count', '', '']);
    assert.deepEqual(filterAll(nodeVolumeLimits, own('one'), moved), ['', '', '']);
  });
  it('counts volumes that are still attached although no pod uses them', () => {
    const attachments = ['1', '2'].map((number) => ({
      metadata: { name: `va${number}`, namespace: '', uid: number },
      spec: { attacher: driver, nodeName: 'a', source: { persistentVolumeName: `pv${number}` } },
    }));
    assert.deepEqual(filterAll(nodeVolumeLimits, using('x', 'c3'), { ...lists, attachments }), [
      'node(s) exceed max volume count',
      '',
      '',
    ]);
  });
});
