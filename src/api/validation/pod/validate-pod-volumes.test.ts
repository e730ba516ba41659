import { testRefusals, v0, vol, label, mode } from '../testing/pod-refusals.ts';

testRefusals(
  {
    volumes: [
      [{ 'spec.volumes': [{ name: '', emptyDir: {} }] }, `${v0}.name: Required value`],
      [{ 'spec.volumes': [{ name: 'A', emptyDir: {} }] }, `${v0}.name: Invalid value: "A": ${label}`],
      [
        {
          'spec.volumes': [
            { name: 'v', emptyDir: {} },
            { name: 'v', emptyDir: {} },
          ],
        },
        'spec.volumes[1].name: Duplicate value: "v"',
      ],
      [
        vol({ emptyDir: {}, hostPath: { path: '/x' } }),
        `${v0}.hostPath: Forbidden: may not specify more than 1 volume type`,
      ],
      [
        vol({ emptyDir: { sizeLimit: '-1' } }),
        `${v0}.emptyDir.sizeLimit: Forbidden: SizeLimit field must be a valid resource quantity`,
      ],
      [vol({ hostPath: { path: '' } }), `${v0}.hostPath.path: Required value`],
      [vol({ hostPath: { path: '/a/../b' } }), `${v0}.hostPath.path: Invalid value: "/a/../b": must not contain '..'`],
      [
        vol({ hostPath: { path: '/a', type: 'Dir' } }),
        `${v0}.hostPath.type: Unsupported value: "Dir": supported values: "", "BlockDevice", "CharDevice", "Directory", "DirectoryOrCreate", "File", "FileOrCreate", "Socket"`,
      ],
      [vol({ secret: {} }), `${v0}.secret.secretName: Required value`],
      [vol({ secret: { secretName: 's', defaultMode: 512 } }), `${v0}.secret.defaultMode: Invalid value: 512: ${mode}`],
      [
        vol({ secret: { secretName: 's', items: [{ key: '', path: 'p' }] } }),
        `${v0}.secret.items[0].key: Required value`,
      ],
      [
        vol({ secret: { secretName: 's', items: [{ key: 'k', path: '' }] } }),
        `${v0}.secret.items[0].path: Required value`,
      ],
      [
        vol({ secret: { secretName: 's', items: [{ key: 'k', path: '..x' }] } }),
        `${v0}.secret.items[0].path: Invalid value: "..x": must not start with '..'`,
      ],
      [vol({ configMap: { name: '' } }), `${v0}.configMap.name: Required value`],
      [
        vol({ configMap: { name: 'c', items: [{ key: 'k', path: '/p' }] } }),
        `${v0}.configMap.items[0].path: Invalid value: "/p": must be a relative path`,
      ],
      [
        vol({ configMap: { name: 'c', items: [{ key: 'k', path: 'p', mode: -1 }] } }),
        `${v0}.configMap.items[0].mode: Invalid value: -1: ${mode}`,
      ],
      [
        vol({ downwardAPI: { items: [{ path: 'p' }] } }),
        `${v0}.downwardAPI: Required value: one of fieldRef and resourceFieldRef is required`,
      ],
      [
        vol({ downwardAPI: { items: [{ path: 'p', resourceFieldRef: { resource: 'limits.cpu' } }] } }),
        `${v0}.downwardAPI.resourceFieldRef.containerName: Required value`,
      ],
      [
        vol({ downwardAPI: { items: [{ path: 'p', fieldRef: { fieldPath: 'status.podIP' } }] } }),
        `${v0}.downwardAPI.fieldRef.fieldPath: Unsupported value: "status.podIP": supported values: "metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid"`,
      ],
      [
        vol({ projected: { sources: [{ secret: { name: 'a' }, configMap: { name: 'b' } }] } }),
        `${v0}.projected.sources[0]: Forbidden: may not specify more than 1 volume type per source`,
      ],
      [
        vol({ projected: { sources: [{ secret: { name: '' } }] } }),
        `${v0}.projected.sources[0].secret.name: Required value`,
      ],
      [
        vol({
          projected: {
            sources: [
              { secret: { name: 'a', items: [{ key: 'k', path: 'p' }] } },
              { configMap: { name: 'b', items: [{ key: 'k', path: 'p' }] } },
            ],
          },
        }),
        `${v0}.projected: Invalid value: "b": conflicting duplicate paths`,
      ],
      [
        vol({ projected: { sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 10 } }] } }),
        `${v0}.projected.sources[0].serviceAccountToken.expirationSeconds: Invalid value: 10: may not specify a duration less than 10 minutes`,
        `${v0}.projected.sources[0].serviceAccountToken: Forbidden: must not be specified when serviceAccountName is not set`,
      ],
      [
        vol({ projected: { sources: [{ clusterTrustBundle: { path: 'p' } }] } }),
        `${v0}.projected.sources[0].clusterTrustBundle: Required value: either name or signerName must be specified`,
      ],
      [vol({ persistentVolumeClaim: { claimName: '' } }), `${v0}.persistentVolumeClaim.claimName: Required value`],
      [vol({ csi: { driver: '' } }), `${v0}.csi.driver: Required value`],
      [vol({ image: {} }), `${v0}.image.reference: Required value`],
      [
        vol({ image: { reference: 'x', pullPolicy: 'y' } }),
        `${v0}.image.pullPolicy: Unsupported value: "y": supported values: "Always", "IfNotPresent", "Never"`,
      ],
      [vol({ ephemeral: {} }), `${v0}.ephemeral.volumeClaimTemplate: Required value`],
      [
        vol({ ephemeral: { volumeClaimTemplate: { spec: {} } } }),
        `${v0}.ephemeral.volumeClaimTemplate.spec.accessModes: Required value: at least 1 access mode is required`,
        `${v0}.ephemeral.volumeClaimTemplate.spec.resources[storage]: Required value`,
      ],
      [vol({ nfs: { server: 's', path: 'p' } }), `${v0}.nfs.path: Invalid value: "p": must be an absolute path`],
      [
        vol({ iscsi: { targetPortal: 'p', iqn: 'x', lun: 0 } }),
        `${v0}.iscsi.iqn: Invalid value: "x": must be valid format starting with iqn, eui, or naa`,
      ],
      [vol({ fc: {} }), `${v0}.fc.targetWWNs: Required value: must specify either targetWWNs or wwids, but not both`],
      [vol({ gitRepo: { repository: '' } }), `${v0}.gitRepo.repository: Required value`],
      [
        vol({ gcePersistentDisk: { pdName: 'x', partition: 256 } }),
        `${v0}.persistentDisk.partition: Invalid value: 256: must be between 1 and 255, inclusive`,
      ],
      [vol({ rbd: { monitors: [], image: 'i' } }), `${v0}.rbd.monitors: Required value`],
      [
        vol({ flexVolume: { driver: 'd', options: { 'kubernetes.io/x': 'y' } } }),
        `${v0}.flexVolume.options[kubernetes.io/x]: Invalid value: "kubernetes.io/x": kubernetes.io and k8s.io namespaces are reserved`,
      ],
      [vol({ flocker: {} }), `${v0}.flocker: Required value: one of datasetName and datasetUUID is required`],
      [
        vol({ azureDisk: { diskName: 'd', diskURI: 'x' } }),
        `${v0}.azureDisk.diskURI: Unsupported value: "x": supported values: "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"`,
      ],
    ],
  },
  39,
);
