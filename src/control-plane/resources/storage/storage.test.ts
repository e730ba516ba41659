import assert from 'node:assert/strict';
import test from 'node:test';
import type { PersistentVolumeClaim } from '../../../api/core/persistent-volume-claim.ts';
import type { PersistentVolume } from '../../../api/core/persistent-volume.ts';
import type { RuntimeClass } from '../../../api/node/runtime-class.ts';
import type { CSIDriver } from '../../../api/storage/csi-driver.ts';
import type { CSINode } from '../../../api/storage/csi-node.ts';
import type { StorageClass } from '../../../api/storage/storage-class.ts';
import type { VolumeAttachment } from '../../../api/storage/volume-attachment.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import { permissivePolicy } from '../../../api/validation/cluster-policy.ts';
import { nowMs, RulesFixture } from '../testing/rules-fixture.ts';

const volumes = new RulesFixture<PersistentVolume>('v1', 'PersistentVolume', {
  spec: { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } },
});
const claims = new RulesFixture<PersistentVolumeClaim>('v1', 'PersistentVolumeClaim', {
  spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Gi' } } },
});
const classes = new RulesFixture<StorageClass>('storage.k8s.io/v1', 'StorageClass', {
  provisioner: 'example.com/disk',
});
const drivers = new RulesFixture<CSIDriver>('storage.k8s.io/v1', 'CSIDriver', { spec: {} });
const csiNodes = new RulesFixture<CSINode>('storage.k8s.io/v1', 'CSINode', {
  spec: { drivers: [{ name: 'disk.example.com', nodeID: 'n', topologyKeys: ['example.com/zone'] }] },
});
const attachments = new RulesFixture<VolumeAttachment>('storage.k8s.io/v1', 'VolumeAttachment', {
  spec: { attacher: 'disk.example.com', nodeName: 'n', source: { persistentVolumeName: 'v' } },
});
const runtimes = new RulesFixture<RuntimeClass>('node.k8s.io/v1', 'RuntimeClass', { handler: 'runc' });
const request = { user: { name: 'tester', groups: [] }, nowMs };

test('valid objects of storage are accepted, and may be written again as they are', () => {
  for (const fixture of [volumes, claims, classes, drivers, csiNodes, attachments, runtimes])
    assert.deepEqual([fixture.refusals(), fixture.updateRefusals({})], [[], []], fixture.definition.type.kind);
});

test('a new volume is pending, keeps its source, and records when its phase changes', () => {
  const created = volumes.created({ 'status.phase': 'Bound' });
  assert.deepEqual(created.status, { phase: 'Pending', lastPhaseTransitionTime: '2026-01-01T12:00:00Z' });
  const [refusal = ''] = volumes.updateRefusals({ 'spec.hostPath.path': '/y' });
  assert.match(
    refusal,
    /^spec\.persistentvolumesource: Forbidden: spec\.persistentvolumesource is immutable after creation\n@@[^]*- {2}"path": "\/x",\n\+ {2}"path": "\/y",\n/,
  );
  assert.deepEqual(volumes.updateRefusals({ 'spec.volumeMode': 'Block' }), [
    'volumeMode: Invalid value: "Block": field is immutable',
  ]);
  assert.deepEqual(
    volumes.updateRefusals({ 'spec.capacity': { storage: '2Gi' }, 'spec.persistentVolumeReclaimPolicy': 'Delete' }),
    [],
  );
  const later = { ...request, nowMs: nowMs + 60_000 };
  const phase = (status: PersistentVolume['status']): unknown =>
    (
      volumes.definition.rules.prepareForStatusUpdate?.(
        { ...created, status } as PersistentVolume,
        created,
        later,
      ) as PersistentVolume
    ).status;
  assert.deepEqual(phase({ phase: 'Available' }), {
    phase: 'Available',
    lastPhaseTransitionTime: '2026-01-01T12:01:00Z',
  });
  assert.deepEqual(phase({ phase: 'Pending' }), { phase: 'Pending', lastPhaseTransitionTime: '2026-01-01T12:00:00Z' });
});

test('a volume and a claim are shown as kubectl users know them', () => {
  const bound = {
    'spec.claimRef': { namespace: 'a', name: 'c' },
    'spec.storageClassName': 'fast',
    'spec.accessModes': ['ReadWriteMany', 'ReadWriteOnce'],
    'status.phase': 'Bound',
  };
  assert.deepEqual(Object.values(volumes.cells(bound)), [
    '1Gi',
    'RWO,RWX',
    'Retain',
    'Bound',
    'a/c',
    'fast',
    '<unset>',
    '',
    '60m',
    'Filesystem',
  ]);
  assert.deepEqual(Object.values(claims.cells()), ['Pending', '', '', '', '', '<unset>', '60m', 'Filesystem']);
  const claimed = {
    'spec.volumeName': 'v',
    'spec.storageClassName': 'fast',
    status: { phase: 'Bound', accessModes: ['ReadWriteOncePod'], capacity: { storage: '5Gi' } },
  };
  assert.deepEqual(Object.values(claims.cells(claimed)), [
    'Bound',
    'v',
    '5Gi',
    'RWOP',
    'fast',
    '<unset>',
    '60m',
    'Filesystem',
  ]);
  assert.equal(claims.cells({ 'metadata.deletionTimestamp': '2026-01-01T00:00:00Z' })['Status'], 'Terminating');
});

test('a claim changes only as it is bound and grown', () => {
  const spec =
    /^spec: Forbidden: spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n@@/;
  assert.deepEqual(claims.updateRefusals({ 'spec.volumeName': 'v' }), []);
  assert.match(claims.updateRefusals({ 'spec.volumeName': 'w' }, { 'spec.volumeName': 'v' })[0] ?? '', spec);
  assert.match(claims.updateRefusals({ 'spec.resources.requests.storage': '2Gi' })[0] ?? '', spec);
  const update = (changes: Changes, capacity: string): string[] => {
    const old: PersistentVolumeClaim = {
      ...claims.created(),
      status: { phase: 'Bound', capacity: { storage: capacity } },
    };
    return claims.definition.rules
      .validateUpdate(
        { ...claims.defaulted(changes), status: old.status } as PersistentVolumeClaim,
        old,
        permissivePolicy,
      )
      .map(({ field, message }) => `${field}: ${message}`);
  };
  assert.deepEqual(
    update({ 'spec.resources.requests.storage': '2Gi', 'spec.volumeAttributesClassName': 'gold' }, '1Gi'),
    [],
  );
  assert.deepEqual(update({ 'spec.resources.requests.storage': '512Mi' }, '1Gi'), [
    'spec.resources.requests.storage: Forbidden: field can not be less than status.capacity',
  ]);
  assert.deepEqual(update({ 'spec.resources.requests.storage': '512Mi' }, '256Mi'), []);
  assert.deepEqual(claims.updateRefusals({ 'spec.storageClassName': 'fast' }), []);
  assert.match(
    claims.updateRefusals({ 'spec.storageClassName': 'slow' }, { 'spec.storageClassName': 'fast' })[0] ?? '',
    spec,
  );
  assert.deepEqual(claims.statusRefusals({ allocatedResourceStatuses: { cpu: 'NodeResizePending' } }), [
    'status.allocatedResourceStatuses: Unsupported value: "cpu": supported values: "storage"',
  ]);
});

test('both fields for the source of a claim say the same', () => {
  const source = { apiGroup: 'snapshot.storage.k8s.io', kind: 'VolumeSnapshot', name: 's' };
  assert.deepEqual(claims.created({ 'spec.dataSource': source }).spec.dataSourceRef, source);
  assert.deepEqual(claims.created({ 'spec.dataSourceRef': source }).spec.dataSource, source);
  assert.equal(claims.created({ 'spec.dataSourceRef': { ...source, namespace: 'b' } }).spec.dataSource, undefined);
});

test('a storage class has a binding mode, and cannot be changed', () => {
  const { reclaimPolicy, volumeBindingMode } = classes.created();
  assert.deepEqual([reclaimPolicy, volumeBindingMode], ['Delete', 'Immediate']);
  assert.deepEqual(classes.refusals({ provisioner: '' }), ['provisioner: Required value']);
  assert.deepEqual(classes.refusals({ reclaimPolicy: 'Recycle', volumeBindingMode: 'Soon' }), [
    'reclaimPolicy: Unsupported value: "Recycle": supported values: "Delete", "Retain"',
    'volumeBindingMode: Unsupported value: "Soon": supported values: "Immediate", "WaitForFirstConsumer"',
  ]);
  const term = { matchLabelExpressions: [{ key: 'zone', values: ['a', 'a'] }] };
  assert.deepEqual(classes.refusals({ allowedTopologies: [term, term] }), [
    'allowedTopologies[0].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
    'allowedTopologies[1].matchLabelExpressions[0].values[1]: Duplicate value: "a"',
    'allowedTopologies[1].matchLabelExpressions: Duplicate value: ""',
  ]);
  assert.deepEqual(
    classes.updateRefusals({ provisioner: 'example.com/other', parameters: { a: 'b' }, allowVolumeExpansion: true }),
    [
      'parameters: Invalid value: {"a":"b"}: field is immutable',
      'provisioner: Invalid value: "example.com/other": field is immutable',
    ],
  );
  assert.deepEqual(
    classes.cells({
      'metadata.annotations': { 'storageclass.kubernetes.io/is-default-class': 'true' },
      volumeBindingMode: 'WaitForFirstConsumer',
    }),
    {
      Name: 'web (default)',
      Provisioner: 'example.com/disk',
      ReclaimPolicy: 'Delete',
      VolumeBindingMode: 'WaitForFirstConsumer',
      AllowVolumeExpansion: false,
    },
  );
});

test('drivers, the nodes they are on and attachments keep what they are', () => {
  assert.deepEqual(drivers.updateRefusals({ 'spec.attachRequired': false }), [
    'spec.attachedRequired: Invalid value: false: field is immutable',
  ]);
  assert.deepEqual(drivers.updateRefusals({ 'spec.requiresRepublish': true }), []);
  assert.equal(
    'preventPodSchedulingIfMissing' in drivers.created({ 'spec.preventPodSchedulingIfMissing': true }).spec,
    false,
  );
  assert.deepEqual(Object.values(drivers.cells({ 'spec.tokenRequests': [{ audience: 'a' }, { audience: 'b' }] })), [
    true,
    false,
    false,
    'a,b',
    false,
    'Persistent',
  ]);
  assert.deepEqual(csiNodes.updateRefusals({ 'spec.drivers[0].allocatable': { count: 5 } }), []);
  assert.match(
    csiNodes.updateRefusals({ 'spec.drivers[0].nodeID': 'm' })[0] ?? '',
    /^spec\.drivers: Invalid value: .*: field is immutable$/,
  );
  assert.deepEqual(csiNodes.refusals({ 'spec.drivers[0].nodeID': '', 'spec.drivers[0].topologyKeys': ['a', 'a'] }), [
    'spec.drivers[0].nodeID: Required value',
    'spec.drivers[0]: Duplicate value: "a"',
  ]);
  assert.deepEqual([csiNodes.cells(), attachments.created().status], [{ Drivers: 1 }, { attached: false }]);
  assert.deepEqual(attachments.refusals({ 'spec.source': {} }), [
    'spec.source: Required value: must specify exactly one of inlineVolumeSpec and persistentVolumeName',
  ]);
  assert.match(
    attachments.updateRefusals({ 'spec.nodeName': 'm' })[0] ?? '',
    /^spec: Invalid value: .*: field is immutable$/,
  );
  const inline = { inlineVolumeSpec: { accessModes: ['ReadWriteOnce'], capacity: { storage: '1Gi' } } };
  assert.deepEqual(attachments.refusals({ 'spec.source': inline }), [
    'spec.source.inlineVolumeSpec.capacity: Forbidden: may not be specified in the context of inline volumes',
    'spec.source.inlineVolumeSpec.csi: Required value: has to be specified in the context of inline volumes',
  ]);
  assert.deepEqual(Object.values(attachments.cells({ status: { attached: true } })), [
    'disk.example.com',
    'v',
    'n',
    true,
  ]);
});

test('the handler of a runtime class stays', () => {
  assert.deepEqual(runtimes.updateRefusals({ handler: 'kata' }), [
    'handler: Invalid value: "kata": field is immutable',
  ]);
  assert.deepEqual(runtimes.cells(), { Handler: 'runc' });
});

test('a capacity keeps what the driver was asked for, and a class of attributes keeps all', () => {
  const capacities = new RulesFixture('storage.k8s.io/v1', 'CSIStorageCapacity', {
    storageClassName: 'fast',
    capacity: '10Gi',
    nodeTopology: { matchLabels: { host: 'a' } },
  });
  assert.deepEqual([capacities.refusals(), capacities.updateRefusals({ capacity: '1Gi' })], [[], []]);
  assert.deepEqual(
    capacities.refusals({ storageClassName: 'Fast', capacity: '-1' }).map((each) => each.split(':')[0]),
    ['storageClassName', 'capacity'],
  );
  assert.deepEqual(capacities.updateRefusals({ storageClassName: 'slow' }), [
    'storageClassName: Invalid value: "slow": field is immutable',
  ]);
  assert.deepEqual(capacities.cells({ capacity: undefined }), { StorageClassName: 'fast', Capacity: '<unset>' });
  const attributes = new RulesFixture('storage.k8s.io/v1', 'VolumeAttributesClass', {
    driverName: 'disk.example.com',
    parameters: { iops: '100' },
  });
  assert.deepEqual([attributes.refusals(), attributes.updateRefusals({})], [[], []]);
  assert.deepEqual(attributes.refusals({ driverName: '', parameters: undefined }), [
    'driverName: Required value',
    'parameters: Required value: must contain at least one key/value pair',
  ]);
  assert.deepEqual(attributes.updateRefusals({ driverName: 'other', parameters: { iops: '200' } }), [
    'driverName: Forbidden: updates to driverName are forbidden.',
    'parameters: Forbidden: updates to parameters are forbidden.',
  ]);
});

test('a driver whose tokens come among the attributes of volumes is warned of', () => {
  const tokenRequests = [{ audience: 'a' }];
  assert.match(drivers.warnings({ 'spec.tokenRequests': tokenRequests })[0] ?? '', /serviceAccountTokenInSecrets/);
  const safe = { 'spec.tokenRequests': tokenRequests, 'spec.serviceAccountTokenInSecrets': false };
  assert.deepEqual([drivers.warnings(), drivers.warnings(safe)], [[], []]);
});
