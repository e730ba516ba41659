import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FieldErrors, formatFieldError } from '../field-error.ts';
import { remoteSources, validateIscsiName } from './volumes-remote.ts';
import type { Volume } from '../../core/volume.ts';

type Kind = keyof typeof remoteSources;

/** The errors of one source, without the prefix `v.` of their fields; `v` is the volume itself. */
function faults(kind: Kind, source: object): string[] {
  const errors = new FieldErrors();
  remoteSources[kind].check(errors, 'v', { name: 'x', [kind]: source } as Volume);
  return errors.list.map((error) => formatFieldError(error).replace(/^v\./, ''));
}
const required = (...fields: string[]): string[] => fields.map((field) => `${field}: Required value`);

/** Each source with a valid value and its required fields. */
const sources: readonly (readonly [Kind, Readonly<Record<string, unknown>>, readonly string[]])[] = [
  ['gitRepo', { repository: 'r', directory: 'd' }, ['repository']],
  ['gcePersistentDisk', { pdName: 'd', partition: 1 }, ['pdName']],
  ['awsElasticBlockStore', { volumeID: 'd', partition: 255 }, ['volumeID']],
  ['nfs', { server: 's', path: '/p' }, ['server']],
  ['iscsi', { targetPortal: 't', iqn: 'iqn.2020-01.example.com:disk', lun: 0 }, ['targetPortal']],
  ['glusterfs', { endpoints: 'e', path: 'p' }, ['endpoints', 'path']],
  ['rbd', { monitors: ['m'], image: 'i' }, ['monitors', 'image']],
  ['cinder', { volumeID: 'd', secretRef: { name: 's' } }, ['volumeID']],
  ['cephfs', { monitors: ['m'] }, ['monitors']],
  ['quobyte', { registry: 'r:1', volume: 'v' }, ['volume']],
  ['fc', { targetWWNs: ['w'], lun: 0 }, []],
  ['flexVolume', { driver: 'd', options: { 'example.com/x': 'y', kubernetes: 'z' } }, ['driver']],
  ['azureFile', { secretName: 's', shareName: 'f' }, ['secretName', 'shareName']],
  ['vsphereVolume', { volumePath: 'p' }, ['volumePath']],
  ['photonPersistentDisk', { pdID: 'p' }, ['pdID']],
  ['portworxVolume', { volumeID: 'p' }, ['volumeID']],
  ['azureDisk', { diskName: 'd', diskURI: 'u' }, ['diskName', 'diskURI']],
  ['storageos', { volumeName: 'v', volumeNamespace: 'n', secretRef: { name: 's' } }, ['volumeName']],
  ['scaleIO', { gateway: 'g', system: 's', volumeName: 'v' }, ['gateway', 'system', 'volumeName']],
  ['csi', { driver: 'Disk.example.com', nodePublishSecretRef: { name: 's' } }, ['driver']],
];

describe('a source whose storage is elsewhere', () => {
  for (const [kind, valid, needed] of sources) {
    it(`${kind} may be as it should be`, () => assert.deepEqual(faults(kind, valid), []));
    for (const field of needed)
      it(`${kind} needs ${field}`, () => {
        assert.deepEqual(faults(kind, { ...valid, [field]: Array.isArray(valid[field]) ? [] : '' }), required(field));
      });
  }

  it('a remote source that is absent is no reason to fail', () => {
    for (const kind of ['iscsi', 'flocker', 'quobyte', 'fc', 'azureDisk', 'storageos', 'csi'] as const) {
      const errors = new FieldErrors();
      remoteSources[kind].check(errors, 'v', { name: 'x' });
      assert.deepEqual(errors.list, [], kind);
    }
  });
});

const partitions = 'must be between 1 and 255, inclusive';
const luns = 'must be between 0 and 255, inclusive';
const pairs = 'must be a host:port pair or multiple pairs separated by commas';
const reserved = 'kubernetes.io and k8s.io namespaces are reserved';

describe('validation of volume sources', () => {
  const iscsi = { targetPortal: 't', iqn: 'iqn.2020-01.example.com:disk', lun: 0 };
  const managed = { diskName: 'd', diskURI: '/subscriptions/x', kind: 'Managed' };
  const uris = {
    managed: '/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}',
    blob: 'https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd',
  };
  const cases: readonly (readonly [Kind, object, ...string[]])[] = [
    ['gitRepo', { repository: 'r', directory: '../d' }, `directory: Invalid value: "../d": must not contain '..'`],
    ['gitRepo', { repository: 'r' }],
    ['gcePersistentDisk', { pdName: 'd', partition: 256 }, `partition: Invalid value: 256: ${partitions}`],
    ['gcePersistentDisk', { pdName: 'd', partition: -1 }, `partition: Invalid value: -1: ${partitions}`],
    ['gcePersistentDisk', { pdName: 'd', partition: 0 }],
    ['gcePersistentDisk', { pdName: 'd' }],
    ['awsElasticBlockStore', { volumeID: 'd', partition: 256 }, `partition: Invalid value: 256: ${partitions}`],
    ['nfs', { server: 's', path: 'p/' }, `path: Invalid value: "p/": must be an absolute path`],
    ['nfs', { server: 's', path: '' }, ...required('path'), `path: Invalid value: "": must be an absolute path`],
    ['iscsi', { ...iscsi, iqn: '' }, ...required('iqn')],
    ['iscsi', { ...iscsi, lun: 256 }, `lun: Invalid value: 256: ${luns}`],
    ['iscsi', { ...iscsi, lun: -1 }, `lun: Invalid value: -1: ${luns}`],
    ['iscsi', { ...iscsi, lun: 255 }],
    ['iscsi', { ...iscsi, chapAuthDiscovery: true }, ...required('secretRef')],
    ['iscsi', { ...iscsi, chapAuthSession: true }, ...required('secretRef')],
    ['iscsi', { ...iscsi, chapAuthSession: true, secretRef: { name: 's' } }],
    ['iscsi', { ...iscsi, chapAuthSession: false, chapAuthDiscovery: false }],
    [
      'iscsi',
      { ...iscsi, initiatorName: 'iqn.2020-01.x' },
      `initiatorname: Invalid value: "iqn.2020-01.x": must be valid format`,
    ],
    ['flocker', { datasetName: 'd' }],
    ['flocker', { datasetUUID: 'd/e' }],
    ['flocker', {}, 'v: Required value: one of datasetName and datasetUUID is required'],
    [
      'flocker',
      { datasetName: 'd', datasetUUID: 'u' },
      'v: Invalid value: "resource": datasetName and datasetUUID can not be specified simultaneously',
    ],
    ['flocker', { datasetName: 'd/e' }, `datasetName: Invalid value: "d/e": must not contain '/'`],
    ['cinder', { volumeID: 'd', secretRef: { name: '' } }, ...required('secretRef.name')],
    ['quobyte', { registry: '', volume: 'v', tenant: 'x'.repeat(65) }, `registry: Required value: ${pairs}`],
    ['quobyte', { registry: 'r:1', volume: 'v', tenant: 'x'.repeat(64) }],
    [
      'quobyte',
      { registry: 'r', volume: 'v', tenant: 'x'.repeat(65) },
      'tenant: Required value: must be a UUID and may not exceed a length of 64 characters',
    ],
    ['quobyte', { registry: 'r:1,[fd00::1]:2', volume: 'v' }],
    ['quobyte', { registry: 'r:1,s', volume: 'v' }, `registry: Invalid value: "r:1,s": ${pairs}`],
    ['quobyte', { registry: 'fd00::1', volume: 'v' }, `registry: Invalid value: "fd00::1": ${pairs}`],
    ['quobyte', { registry: 'x[fd00::1]:2', volume: 'v' }, `registry: Invalid value: "x[fd00::1]:2": ${pairs}`],
    ['quobyte', { registry: 'r:1:2', volume: 'v' }, `registry: Invalid value: "r:1:2": ${pairs}`],
    ['fc', { wwids: ['w'] }],
    ['fc', { wwids: ['w'], lun: 256 }],
    ['fc', { targetWWNs: ['w'], lun: 255 }],
    ['fc', {}, 'targetWWNs: Required value: must specify either targetWWNs or wwids, but not both'],
    ['fc', { targetWWNs: ['w'] }, 'lun: Required value: lun is required if targetWWNs is specified'],
    ['fc', { targetWWNs: ['w'], lun: 256 }, `lun: Invalid value: 256: ${luns}`],
    ['fc', { targetWWNs: ['w'], lun: -1 }, `lun: Invalid value: -1: ${luns}`],
    [
      'fc',
      { targetWWNs: ['w'], wwids: ['w'], lun: 0 },
      'targetWWNs: Invalid value: ["w"]: targetWWNs and wwids can not be specified simultaneously',
    ],
    [
      'flexVolume',
      { driver: 'd', options: { 'A.K8s.io/x': 'y' } },
      `options[A.K8s.io/x]: Invalid value: "A.K8s.io/x": ${reserved}`,
    ],
    [
      'flexVolume',
      { driver: 'd', options: { 'k8s.io': 'y' } },
      `options[k8s.io]: Invalid value: "k8s.io": ${reserved}`,
    ],
    [
      'flexVolume',
      { driver: 'd', options: { 'kubernetes.io/x': 'y' } },
      `options[kubernetes.io/x]: Invalid value: "kubernetes.io/x": ${reserved}`,
    ],
    ['flexVolume', { driver: 'd', options: { 'notk8s.io/x': 'y', 'x/k8s.io': 'z' } }],
    ['azureDisk', managed],
    ['azureDisk', { ...managed, cachingMode: 'ReadOnly' }],
    ['azureDisk', { diskName: 'd', diskURI: 'https://x', kind: 'Dedicated' }],
    ['azureDisk', { diskName: 'd', diskURI: 'https://x', kind: 'Shared', cachingMode: 'None' }],
    [
      'azureDisk',
      { ...managed, diskURI: 'https://x' },
      `diskURI: Unsupported value: "https://x": supported values: "${uris.managed}"`,
    ],
    [
      'azureDisk',
      { ...managed, kind: 'Shared' },
      `diskURI: Unsupported value: "/subscriptions/x": supported values: "${uris.blob}"`,
    ],
    [
      'azureDisk',
      { ...managed, cachingMode: 'x' },
      'cachingMode: Unsupported value: "x": supported values: "None", "ReadOnly", "ReadWrite"',
    ],
    [
      'azureDisk',
      { diskName: 'd', diskURI: 'https://x', kind: 'x' },
      'kind: Unsupported value: "x": supported values: "Dedicated", "Managed", "Shared"',
    ],
    ['storageos', { volumeName: 'v', secretRef: { name: '' } }, ...required('secretRef.name')],
    ['csi', { driver: 'd', nodePublishSecretRef: { name: '' } }, ...required('nodePublishSecretRef.name')],
    ['csi', { driver: 'd' }],
    ['csi', { driver: 'd'.repeat(63) }],
    ['csi', { driver: 'd'.repeat(64) }, 'driver: Too long: may not be more than 63 bytes'],
  ];
  for (const [kind, source, ...expected] of cases)
    it(`${kind} ${JSON.stringify(source).slice(0, 80)}`, () => assert.deepEqual(faults(kind, source), expected));

  it('names have to be names', () => {
    const fieldOf = (kind: Kind, source: object): (string | undefined)[] =>
      faults(kind, source).map((text) => /^(\S+): Invalid value: "A"/.exec(text)?.[1]);
    assert.deepEqual(fieldOf('storageos', { volumeName: 'A', volumeNamespace: 'A' }), [
      'volumeName',
      'volumeNamespace',
    ]);
    assert.deepEqual(fieldOf('csi', { driver: 'd', nodePublishSecretRef: { name: 'A' } }), ['name']);
    assert.equal(faults('csi', { driver: 'a_b' }).length, 1);
  });
});

describe('the name of an iSCSI target', () => {
  const fault = (name: string): string | undefined => {
    const errors = new FieldErrors();
    validateIscsiName(errors, 'f', name, 'unknown');
    return errors.list.map(formatFieldError)[0]?.replace(`f: Invalid value: "${name}": `, '');
  };
  for (const name of [
    'iqn.2020-01.com.example-a:disk/1',
    'iqn.1999-12.A:b',
    `eui.${'0aF'.repeat(5)}9`,
    `naa.${'0aF9'.repeat(8)}`,
  ])
    it(`may be ${name}`, () => assert.equal(fault(name), undefined));
  for (const [name, expected] of [
    ['', 'unknown'],
    ['iq', 'unknown'],
    ['disk', 'unknown'],
    ['iqn.2020-01.com.example', 'must be valid format'],
    ['iqn.2020-1.com:x', 'must be valid format'],
    ['iqn.202-01.com:x', 'must be valid format'],
    ['iqn.2020-01.c_m:x', 'must be valid format'],
    ['iqn.2020-01.com:', 'must be valid format'],
    ['iqn.2020-01.com:a b', 'must be valid format'],
    ['iqn.2020-01.com:a,b', 'must be valid format'],
    ['iqn.2020-01.:x', 'must be valid format'],
    [`eui.${'0'.repeat(15)}`, 'must be valid format'],
    [`eui.${'0'.repeat(17)}`, 'must be valid format'],
    [`eui.${'0'.repeat(15)}_`, 'must be valid format'],
    [`naa.${'0'.repeat(31)}`, 'must be valid format'],
    [`naa.${'0'.repeat(33)}`, 'must be valid format'],
    [`naa.${'0'.repeat(31)}_`, 'must be valid format'],
  ] as const)
    it(`may not be ${name}`, () => assert.equal(fault(name), expected));
});
