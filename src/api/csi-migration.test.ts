import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PersistentVolume, PersistentVolumeSpec } from './core/persistent-volume.ts';
import type { Volume } from './core/volume.ts';
import { csiFormOf, inlineCsiForm, migratedInline, migratedPlugins, migratedVolume } from './csi-migration.ts';

const inline = (source: object): PersistentVolume | undefined =>
  migratedInline({ name: 'v', ...source } as Volume, 'shop');
const pv = (source: object, more: { metadata?: object; spec?: object } = {}): PersistentVolume =>
  ({
    metadata: { name: 'pv', namespace: '', uid: 'u', ...more.metadata },
    spec: { accessModes: ['ReadWriteOnce'], ...source, ...more.spec },
  }) as PersistentVolume;
const csi = (source: object, more?: { metadata?: object; spec?: object }): PersistentVolumeSpec['csi'] =>
  migratedVolume(pv(source, more)).spec.csi;
const ebs = 'ebs.csi.aws.com';

describe('an inline volume of a cloud', () => {
  const rows: [name: string, source: object, as: string, spec: PersistentVolumeSpec][] = [
    [
      'EBS',
      { awsElasticBlockStore: { volumeID: 'vol-1', partition: 2, fsType: 'ext4', readOnly: true } },
      'ebs.csi.aws.com-vol-1',
      {
        csi: {
          driver: ebs,
          volumeHandle: 'vol-1',
          readOnly: true,
          fsType: 'ext4',
          volumeAttributes: { partition: '2' },
        },
        accessModes: ['ReadWriteOnce'],
      },
    ],
    [
      'a GCE disk, shared when it is read only',
      { gcePersistentDisk: { pdName: 'd', readOnly: true } },
      'pd.csi.storage.gke.io-d',
      {
        csi: {
          driver: 'pd.csi.storage.gke.io',
          volumeHandle: 'projects/UNSPECIFIED/zones/UNSPECIFIED/disks/d',
          readOnly: true,
          volumeAttributes: { partition: '' },
        },
        accessModes: ['ReadOnlyMany'],
      },
    ],
    [
      'an Azure disk',
      {
        azureDisk: {
          diskName: 'd',
          diskURI: '/subscriptions/d',
          cachingMode: 'ReadOnly',
          fsType: 'xfs',
          kind: 'Managed',
        },
      },
      '/subscriptions/d',
      {
        csi: {
          driver: 'disk.csi.azure.com',
          volumeHandle: '/subscriptions/d',
          fsType: 'xfs',
          volumeAttributes: { kind: 'Managed', cachingmode: 'ReadOnly', fstype: 'xfs' },
        },
        accessModes: ['ReadWriteOnce'],
      },
    ],
    [
      'an Azure share, with the secret of the pod’s namespace',
      { azureFile: { secretName: 'azure-storage-account-acc-secret', shareName: 's' } },
      '#acc#s#v#shop',
      {
        csi: {
          driver: 'file.csi.azure.com',
          volumeHandle: '#acc#s#v#shop',
          volumeAttributes: { sharename: 's' },
          nodeStageSecretRef: { name: 'azure-storage-account-acc-secret', namespace: 'shop' },
        },
        accessModes: ['ReadWriteMany'],
      },
    ],
    [
      'a Cinder volume',
      { cinder: { volumeID: 'c' } },
      'cinder.csi.openstack.org-c',
      { csi: { driver: 'cinder.csi.openstack.org', volumeHandle: 'c' }, accessModes: ['ReadWriteOnce'] },
    ],
    [
      'a vSphere disk',
      { vsphereVolume: { volumePath: '[d] a.vmdk', fsType: 'ext4', storagePolicyName: 'gold' } },
      'csi.vsphere.vmware.com-[d] a.vmdk',
      {
        csi: {
          driver: 'csi.vsphere.vmware.com',
          volumeHandle: '[d] a.vmdk',
          fsType: 'ext4',
          volumeAttributes: { storagepolicyname: 'gold' },
        },
        accessModes: ['ReadWriteOnce'],
      },
    ],
    [
      'a Portworx volume, whose driver goes by the access mode',
      { portworxVolume: { volumeID: 'p', readOnly: true } },
      'pxd.portworx.com-p',
      { csi: { driver: 'pxd.portworx.com', volumeHandle: 'p' }, accessModes: ['ReadOnlyMany'] },
    ],
  ];
  for (const [name, source, as, spec] of rows)
    it(`becomes a volume of its CSI driver: ${name}`, () =>
      assert.deepEqual(inline(source), { metadata: { name: as, namespace: '', uid: '' }, spec }));

  it('an inline cloud volume of another kind is not migrated', () => assert.equal(inline({ emptyDir: {} }), undefined));
});

describe("a cloud's PersistentVolume", () => {
  it('keeps all fields except its source, and other volume kinds are returned unchanged', () => {
    const given = pv({ cinder: { volumeID: 'c' } }, { spec: { capacity: { storage: '1Gi' } } });
    assert.deepEqual(migratedVolume(given), {
      metadata: given.metadata,
      spec: {
        accessModes: ['ReadWriteOnce'],
        capacity: { storage: '1Gi' },
        csi: { driver: 'cinder.csi.openstack.org', volumeHandle: 'c' },
      },
    });
    const other = pv({ hostPath: { path: '/x' } });
    assert.equal(migratedVolume(other), other);
  });

  it('of EBS may be named by a URL, and a URL that names no volume is refused', () => {
    assert.equal(csi({ awsElasticBlockStore: { volumeID: 'aws://us-east-1a/vol-7' } })?.volumeHandle, 'vol-7');
    const wrong = pv({ awsElasticBlockStore: { volumeID: 'aws://us-east-1a/disk' } });
    assert.throws(() => migratedVolume(wrong), /Invalid format for AWS volume/);
    assert.equal(csiFormOf(wrong), wrong);
  });

  it('of GCE is zonal or regional by its labels, and has one writer or many readers', () => {
    const disk = { gcePersistentDisk: { pdName: 'd', partition: 3 } };
    const labelled = (zone: string): string | undefined =>
      csi(disk, { metadata: { labels: { 'topology.kubernetes.io/zone': zone } } })?.volumeHandle;
    assert.equal(labelled('eu-west1-a'), 'projects/UNSPECIFIED/zones/eu-west1-a/disks/d');
    assert.equal(labelled('eu-west1-a__eu-west1-b'), 'projects/UNSPECIFIED/regions/eu-west1/disks/d');
    assert.throws(() => labelled('eu-west1-a__us-east1-b'), /failed to get region/);
    assert.deepEqual(csi(disk)?.volumeAttributes, { partition: '3' });
    const modes = (...accessModes: string[]): unknown =>
      migratedVolume(pv(disk, { spec: { accessModes } })).spec.accessModes;
    assert.deepEqual(
      [modes('ReadWriteMany'), modes('ReadOnlyMany'), modes('ReadOnlyMany', 'ReadWriteOnce')],
      [['ReadWriteOnce'], ['ReadOnlyMany'], ['ReadWriteOnce']],
    );
  });

  it('of Azure has the secret of the source or of the claim, and is refused without either or when it is not managed', () => {
    const azureFile = { secretName: 'acc', shareName: 's' };
    const claimRef = { namespace: 'shop', name: 'c' };
    const annotations = { 'kubernetes.io/azure-file-resource-group': 'rg' };
    const handle = (source: object, more?: object): string | undefined =>
      csi({ azureFile: { ...azureFile, ...source } }, more)?.volumeHandle;
    assert.equal(handle({}, { spec: { claimRef }, metadata: { annotations } }), 'rg#acc#s#pv#shop');
    assert.equal(handle({ secretNamespace: 'keys' }, { spec: { claimRef } }), '#acc#s#pv#keys');
    assert.throws(() => handle({}), /could not find a secret namespace/);
    assert.throws(() => csi({ azureDisk: { diskURI: 'x', kind: 'Dedicated' } }), /not supported in csi migration/);
  });

  it('of Portworx names its secret in annotations', () => {
    const annotations = { 'openstorage.io/auth-secret-name': 's', 'openstorage.io/auth-secret-namespace': 'n' };
    assert.deepEqual(csi({ portworxVolume: { volumeID: 'p' } }, { metadata: { annotations } })?.nodeStageSecretRef, {
      name: 's',
      namespace: 'n',
    });
  });

  it('requires the zones of its driver: renamed in its affinity, or from its labels', () => {
    const disk = { awsElasticBlockStore: { volumeID: 'vol-1' } };
    const affinity = (key: string) => ({
      required: { nodeSelectorTerms: [{ matchExpressions: [{ key, operator: 'In', values: ['a'] }] }] },
    });
    const moved = (more: object): unknown => migratedVolume(pv(disk, more)).spec.nodeAffinity;
    const own = affinity('topology.ebs.csi.aws.com/zone');
    assert.deepEqual(moved({ spec: { nodeAffinity: affinity('topology.kubernetes.io/zone') } }), own);
    assert.deepEqual(moved({ spec: { nodeAffinity: affinity('failure-domain.beta.kubernetes.io/zone') } }), own);
    assert.deepEqual(moved({ metadata: { labels: { 'topology.kubernetes.io/zone': 'a' } } }), own);
    assert.equal(moved({}), undefined);
  });
});

it('lists all migrated plugins of upstream, and skips volumes that cannot be translated', () => {
  assert.deepEqual(
    migratedPlugins.map((plugin) => plugin.slice('kubernetes.io/'.length)),
    ['aws-ebs', 'azure-disk', 'azure-file', 'cinder', 'gce-pd', 'portworx-volume', 'vsphere-volume'],
  );
  assert.equal(
    inlineCsiForm({ name: 'v', azureDisk: { diskName: 'd', diskURI: 'u', kind: 'Shared' } } as Volume, 'n'),
    undefined,
  );
});
