// What the API server fills in, per kind, here of services, volumes and Secrets: the sparsest object that a client may write, and one whose fields
// are all set.
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { defaultConfigMap, defaultSecret } from './default-config.ts';
import { defaultService, isExternallyReachable, withClusterIps } from './default-service.ts';
import { defaultCsiDriver, defaultPersistentVolume, defaultPersistentVolumeClaim } from './default-storage.ts';
import { defaultVolumeInPlace } from './default-volume.ts';
import { defaultsOf, specs } from './testing/sparse-objects.ts';

test('a Service is of type ClusterIP without affinity, and the fields of its type follow', () => {
  const of = specs(defaultService);
  const usual = { sessionAffinity: 'None', type: 'ClusterIP', internalTrafficPolicy: 'Cluster' };
  const sticky = { clientIP: { timeoutSeconds: 10_800 } };
  assert.deepEqual(
    [
      of({}),
      of({ sessionAffinity: 'None', sessionAffinityConfig: sticky }),
      of({ sessionAffinity: 'ClientIP' }),
      of({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: {} } }),
      of({ sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } }),
      of({
        ports: [
          { port: 80 },
          { port: 81, targetPort: 0 },
          { port: 82, targetPort: '', protocol: 'UDP' },
          { port: 83, targetPort: 'web' },
        ],
      }),
      of({ externalIPs: ['1.2.3.4'] }),
      of({ externalIPs: [] }),
      of({ type: 'NodePort' }),
      of({ type: 'NodePort', externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' }),
      of({ type: 'LoadBalancer' }),
      of({ type: 'LoadBalancer', allocateLoadBalancerNodePorts: false }),
      of({ type: 'ExternalName', externalIPs: ['1.2.3.4'] }),
    ],
    [
      usual,
      usual,
      { ...usual, sessionAffinity: 'ClientIP', sessionAffinityConfig: sticky },
      { ...usual, sessionAffinity: 'ClientIP', sessionAffinityConfig: sticky },
      { ...usual, sessionAffinity: 'ClientIP', sessionAffinityConfig: { clientIP: { timeoutSeconds: 5 } } },
      {
        ...usual,
        ports: [
          { port: 80, protocol: 'TCP', targetPort: 80 },
          { port: 81, protocol: 'TCP', targetPort: 81 },
          { port: 82, protocol: 'UDP', targetPort: 82 },
          { port: 83, protocol: 'TCP', targetPort: 'web' },
        ],
      },
      { ...usual, externalIPs: ['1.2.3.4'], externalTrafficPolicy: 'Cluster' },
      { ...usual, externalIPs: [] },
      { ...usual, type: 'NodePort', externalTrafficPolicy: 'Cluster' },
      { ...usual, type: 'NodePort', externalTrafficPolicy: 'Local', internalTrafficPolicy: 'Local' },
      {
        ...usual,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Cluster',
        allocateLoadBalancerNodePorts: true,
      },
      {
        ...usual,
        type: 'LoadBalancer',
        externalTrafficPolicy: 'Cluster',
        allocateLoadBalancerNodePorts: false,
      },
      { sessionAffinity: 'None', type: 'ExternalName', externalIPs: ['1.2.3.4'] },
    ],
  );
  const ips = specs(withClusterIps);
  assert.deepEqual(
    [
      ips({}),
      ips({ clusterIP: 'None' }),
      ips({ clusterIP: '1.2.3.4', clusterIPs: ['5.6.7.8'] }),
      ips({ clusterIP: '' }),
    ],
    [
      {},
      { clusterIP: 'None', clusterIPs: ['None'] },
      { clusterIP: '1.2.3.4', clusterIPs: ['5.6.7.8'] },
      { clusterIP: '' },
    ],
  );
  assert.equal(isExternallyReachable({ metadata: { name: 's', namespace: '', uid: '' }, spec: {} }), false);
});

test('volumes and claims are file systems, and remote sources of PersistentVolumes have the defaults of those of pods', () => {
  const sources = {
    iscsi: {},
    rbd: {},
    azureDisk: {},
    scaleIO: {},
  };
  const filled = {
    iscsi: { iscsiInterface: 'default' },
    rbd: { pool: 'rbd', user: 'admin', keyring: '/etc/ceph/keyring' },
    azureDisk: { cachingMode: 'ReadWrite', fsType: 'ext4', readOnly: false, kind: 'Shared' },
    scaleIO: { storageMode: 'ThinProvisioned', fsType: 'xfs' },
  };
  const own = {
    hostPath: { path: '/x', type: 'Directory' },
    iscsi: { iscsiInterface: 'eth1' },
    rbd: { pool: 'p', user: 'u', keyring: 'k' },
    azureDisk: { cachingMode: 'None', fsType: '', readOnly: true, kind: 'Managed' },
    scaleIO: { storageMode: 'Thick', fsType: 'ext4' },
  };
  const volume = specs(defaultPersistentVolume);
  const usual = { persistentVolumeReclaimPolicy: 'Retain', volumeMode: 'Filesystem' };
  const chosen = { ...own, persistentVolumeReclaimPolicy: 'Delete', volumeMode: 'Block' };
  assert.deepEqual(
    [
      volume({}),
      volume({ ...sources, hostPath: { path: '/x' }, capacity: { storage: '1.5m' } }),
      volume(chosen),
      defaultsOf(defaultPersistentVolume, { metadata: {}, spec: chosen, status: { phase: 'Bound', message: 'm' } }),
    ],
    [
      usual,
      { ...usual, ...filled, hostPath: { path: '/x', type: '' }, capacity: { storage: '2m' } },
      chosen,
      { metadata: {}, spec: chosen, status: { phase: 'Bound', message: 'm' } },
    ],
  );
  const ofPod = (source: object): unknown => {
    const copy = structuredClone({ name: 'v', ...source });
    defaultVolumeInPlace(copy as Parameters<typeof defaultVolumeInPlace>[0]);
    return copy;
  };
  assert.deepEqual(
    [ofPod(sources), ofPod(own)],
    [
      { name: 'v', ...filled },
      { name: 'v', ...own },
    ],
  );
  const list = { limits: { storage: '100u' }, requests: { storage: '100u' } };
  assert.deepEqual(
    [
      defaultsOf(defaultPersistentVolumeClaim, { metadata: {}, spec: {} }),
      defaultsOf(defaultPersistentVolumeClaim, {
        metadata: {},
        spec: { volumeMode: 'Block', resources: list },
        status: { phase: 'Bound', capacity: { storage: '100u' }, allocatedResources: { storage: '200u' } },
      }),
    ],
    [
      { metadata: {}, spec: { volumeMode: 'Filesystem' }, status: { phase: 'Pending' } },
      {
        metadata: {},
        spec: { volumeMode: 'Block', resources: { limits: { storage: '1m' }, requests: { storage: '1m' } } },
        status: { phase: 'Bound', capacity: { storage: '1m' }, allocatedResources: { storage: '1m' } },
      },
    ],
  );
});

test('a volume of a pod is an emptyDir unless it names a source, whose files all may read', () => {
  const of = (source: object): unknown => {
    const copy = structuredClone({ name: 'v', ...source });
    defaultVolumeInPlace(copy as Parameters<typeof defaultVolumeInPlace>[0]);
    const { name: _, ...rest } = copy;
    return rest;
  };
  const file = { path: 'p', fieldRef: { fieldPath: 'metadata.name' } };
  const resource = { path: 'r', resourceFieldRef: { resource: 'limits.cpu' } };
  const files = [
    { path: 'p', fieldRef: { fieldPath: 'metadata.name', apiVersion: 'v1' } },
    { path: 'r', resourceFieldRef: { resource: 'limits.cpu', divisor: '0' } },
  ];
  const kept = {
    downwardAPI: { defaultMode: 0, items: [{ path: 'p', fieldRef: { fieldPath: 'x', apiVersion: 'v2' } }] },
    projected: { defaultMode: 0, sources: [{ serviceAccountToken: { path: 't', expirationSeconds: 600 } }] },
    secret: { defaultMode: 0 },
    configMap: { defaultMode: 0 },
    image: { reference: 'x', pullPolicy: 'Never' },
  };
  assert.deepEqual(
    [
      of({}),
      of({ csi: undefined }),
      of({ nfs: { server: 's', path: '/' } }),
      of({ image: { reference: 'x:1' } }),
      of({ image: {} }),
      of({ secret: {}, configMap: {}, downwardAPI: { items: [file, resource] } }),
      of({ downwardAPI: {} }),
      of({ projected: { sources: [{ downwardAPI: { items: [file] } }, { serviceAccountToken: { path: 't' } }] } }),
      of({ ephemeral: { volumeClaimTemplate: { spec: {} } } }),
      of({ ephemeral: {} }),
      of(kept),
    ],
    [
      { emptyDir: {} },
      { csi: undefined, emptyDir: {} },
      { nfs: { server: 's', path: '/' } },
      { image: { reference: 'x:1', pullPolicy: 'IfNotPresent' } },
      { image: { pullPolicy: 'IfNotPresent' } },
      {
        secret: { defaultMode: 0o644 },
        configMap: { defaultMode: 0o644 },
        downwardAPI: { defaultMode: 0o644, items: files },
      },
      { downwardAPI: { defaultMode: 0o644 } },
      {
        projected: {
          defaultMode: 0o644,
          sources: [
            { downwardAPI: { items: files.slice(0, 1) } },
            { serviceAccountToken: { path: 't', expirationSeconds: 3600 } },
          ],
        },
      },
      { ephemeral: { volumeClaimTemplate: { spec: { volumeMode: 'Filesystem' } } } },
      { ephemeral: {} },
      kept,
    ],
  );
});

test('a CSI driver attaches its volumes, and takes part in nothing else', () => {
  const usual = {
    attachRequired: true,
    podInfoOnMount: false,
    storageCapacity: false,
    fsGroupPolicy: 'ReadWriteOnceWithFSType',
    volumeLifecycleModes: ['Persistent'],
    requiresRepublish: false,
    seLinuxMount: false,
  };
  const other = {
    attachRequired: false,
    podInfoOnMount: true,
    storageCapacity: true,
    fsGroupPolicy: 'None',
    volumeLifecycleModes: ['Ephemeral'],
    requiresRepublish: true,
    seLinuxMount: true,
  };
  const of = specs(defaultCsiDriver);
  assert.deepEqual([of({}), of({ volumeLifecycleModes: [] }), of(other)], [usual, usual, other]);
});

test('texts of a Secret become its data, which they override', () => {
  assert.deepEqual(
    [
      defaultsOf(defaultSecret, { metadata: {} }),
      defaultsOf(defaultSecret, { metadata: {}, type: 'a', data: { a: 'MQ==', b: 'Mg==' }, stringData: { b: 'ü' } }),
      defaultsOf(defaultSecret, { metadata: {}, stringData: {} }),
      defaultsOf(defaultSecret, { metadata: {}, stringData: { a: '1' } }),
      defaultsOf(defaultConfigMap, { metadata: {} }),
      defaultsOf(defaultConfigMap, { metadata: {}, data: { a: 'b' } }),
    ],
    [
      { metadata: {}, type: 'Opaque' },
      { metadata: {}, type: 'a', data: { a: 'MQ==', b: 'w7w=' } },
      { metadata: {}, type: 'Opaque' },
      { metadata: {}, type: 'Opaque', data: { a: 'MQ==' } },
      { metadata: {}, data: {} },
      { metadata: {}, data: { a: 'b' } },
    ],
  );
});
