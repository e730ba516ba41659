import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadManifest } from '../manifest/load-manifest.ts';
import { inDefaultNamespace, validateObject } from '../manifest/manifest-kinds.ts';
import { formatFieldError } from './field-error.ts';
import { checkStrictCidr, checkStrictIp } from './names.ts';

/** The errors of the API server for the one object in the text. */
function complaints(text: string): string[] {
  const { objects, errors } = loadManifest(text, { fileName: 'f' });
  assert.deepEqual(errors, []);
  return objects.flatMap((entry) => validateObject(inDefaultNamespace(entry))).map(formatFieldError);
}
const volume = (spec: string, metadata = '{name: p}'): string[] =>
  complaints(`{apiVersion: v1, kind: PersistentVolume, metadata: ${metadata}, spec: ${spec}}`);
const service = (spec: string): string[] =>
  complaints(`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: ${spec}}`);
const claim = (spec: string): string[] =>
  complaints(`{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: ${spec}}`);
const runtimeClass = (rest: string): string[] =>
  complaints(`{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: r}, ${rest}}`);
const driver = (spec: string): string[] =>
  complaints(`{apiVersion: storage.k8s.io/v1, kind: CSIDriver, metadata: {name: d}, spec: ${spec}}`);
const usual = 'accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}';

test('a persistent volume needs a size, modes and exactly one source', () => {
  assert.deepEqual(volume('{}'), [
    'spec.accessModes: Required value',
    'spec.capacity: Required value',
    'spec.capacity: Unsupported value: {}: supported values: "storage"',
    'spec: Required value: must specify a volume type',
  ]);
  assert.deepEqual(volume(`{${usual}, hostPath: {path: /a}, nfs: {server: s, path: /a}}`), [
    'spec.nfs: Forbidden: may not specify more than 1 volume type',
  ]);
  assert.deepEqual(volume('{accessModes: [ReadWriteOnce], capacity: {storage: 0}, hostPath: {path: /a}}'), [
    'spec.capacity[storage]: Invalid value: "0": must be greater than zero',
  ]);
  assert.deepEqual(volume(`{${usual}, hostPath: {path: /a}}`, '{name: p, namespace: x}'), [
    'metadata.namespace: Forbidden: not allowed on this type',
  ]);
  assert.deepEqual(
    volume('{accessModes: [ReadWriteOncePod, ReadWriteOnce], capacity: {storage: 1}, hostPath: {path: /a}}'),
    ['spec.accessModes: Forbidden: may not use ReadWriteOncePod with other access modes'],
  );
});

test('sources of persistent volumes are checked as upstream does', () => {
  assert.deepEqual(volume(`{${usual}, local: {path: /a}}`), [
    'spec.nodeAffinity: Required value: Local volume requires node affinity',
  ]);
  assert.deepEqual(volume(`{${usual}, nfs: {server: '', path: a}}`), [
    'spec.nfs.server: Required value',
    'spec.nfs.path: Invalid value: "a": must be an absolute path',
  ]);
  assert.deepEqual(
    volume(`{${usual}, csi: {driver: d, volumeHandle: '', nodeStageSecretRef: {}, nodePublishSecretRef: {name: s}}}`),
    ['spec.csi.volumeHandle: Required value', 'spec.csi.nodePublishSecretRef.namespace: Required value'],
  );
  assert.deepEqual(volume(`{${usual}, iscsi: {targetPortal: t, iqn: abc, lun: 300}}`), [
    'spec.iscsi.iqn: Invalid value: "abc": must be valid format',
    'spec.iscsi.lun: Invalid value: 300: must be between 0 and 255, inclusive',
  ]);
  assert.deepEqual(volume(`{${usual}, hostPath: {path: /}, persistentVolumeReclaimPolicy: Recycle}`), [
    "spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'",
  ]);
  assert.deepEqual(volume(`{${usual}, hostPath: {path: /a}, volumeAttributesClassName: ''}`), [
    'spec.volumeAttributesClassName: Required value: an empty string is disallowed',
    'spec.csi: Required value: has to be specified when using volumeAttributesClassName',
  ]);
});

test('a claim needs modes and a size', () => {
  assert.deepEqual(claim('{}'), [
    'spec.accessModes: Required value: at least 1 access mode is required',
    'spec.resources[storage]: Required value',
  ]);
  assert.deepEqual(
    claim('{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}, volumeMode: Block}'),
    [],
  );
  assert.deepEqual(
    claim(
      '{accessModes: [ReadWriteOnce], resources: {requests: {storage: 1}}, dataSource: {kind: PersistentVolumeClaim, name: a}, dataSourceRef: {kind: PersistentVolumeClaim, name: b}}',
    ),
    ['spec: Invalid value: {"name":"dataSource"}: must match dataSourceRef'],
  );
});

test('a service needs ports with names that differ, and addresses of its families', () => {
  assert.deepEqual(service('{}'), ['spec.ports: Required value']);
  assert.deepEqual(service('{clusterIP: None}'), []);
  assert.deepEqual(service('{ports: [{port: 80}, {name: b, port: 80}]}'), [
    'spec.ports[0].name: Required value',
    'spec.ports[1]: Duplicate value: {"protocol":"TCP","port":80}',
  ]);
  assert.deepEqual(service('{ports: [{port: 80, nodePort: 30000}], externalTrafficPolicy: Local}'), [
    "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'",
    'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
  ]);
  assert.deepEqual(service('{ports: [{port: 80}], clusterIP: 10.0.0.1, clusterIPs: [10.0.0.1, 10.0.0.2]}'), [
    'spec.clusterIPs: Invalid value: ["10.0.0.1","10.0.0.2"]: may specify no more than one IP for each IP family',
  ]);
  assert.deepEqual(service('{ports: [{port: 80}], clusterIP: "fd00::1", ipFamilies: [IPv4]}'), [
    'spec.clusterIPs[0]: Invalid value: "fd00::1": expected an IPv4 value as indicated by `ipFamilies[0]`',
  ]);
  assert.deepEqual(service('{type: ExternalName, externalName: a_b}').length, 1);
  assert.deepEqual(service('{type: ExternalName, externalName: example.com.}'), []);
  assert.deepEqual(
    service('{ports: [{port: 80}], sessionAffinity: ClientIP, sessionAffinityConfig: {clientIP: {timeoutSeconds: 0}}}'),
    [
      'spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less than 86400',
    ],
  );
  assert.deepEqual(service('{ports: [{port: 80}], externalIPs: [127.0.0.1]}'), [
    'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
  ]);
});

test('no external address of a service leads to the machine that dials it or to its links, however it is written', () => {
  for (const ip of [
    '127.0.0.1',
    '0:0:0:0:0:ffff:7f00:1',
    '::ffff:127.0.0.1',
    '::7f00:1',
    '64:ff9b::7f00:1',
    '2002:a9fe:a9fe::',
    '169.254.1.1',
    'fe80::1',
    '0:0::0',
    '::',
    '224.0.0.5',
    'ff12::1',
    '127.1',
    '0x7f000001',
  ])
    assert.notDeepEqual(service(`{ports: [{port: 80}], externalIPs: ["${ip}"]}`), [], ip);
  for (const ip of ['10.0.0.1', 'fd00::1', '::a00:1'])
    assert.deepEqual(service(`{ports: [{port: 80}], externalIPs: ["${ip}"]}`), [], ip);
});

test('a runtime class names a handler, and its overhead and tolerations are checked', () => {
  assert.deepEqual(runtimeClass('scheduling: {}'), ['handler: Required value']);
  assert.match(runtimeClass('handler: a.b').join(), /^handler: Invalid value: "a\.b": must not contain dots$/);
  assert.deepEqual(runtimeClass('handler: a, overhead: {podFixed: {memory: -1}}'), [
    'overhead.limits[memory]: Invalid value: "-1": must be greater than or equal to 0',
  ]);
  assert.deepEqual(runtimeClass('handler: a, scheduling: {tolerations: [{operator: Exists}, {operator: Exists}]}'), [
    'scheduling.tolerations[1]: Duplicate value: {"operator":"Exists"}',
  ]);
});

test('a CSI driver is checked after defaulting', () => {
  assert.deepEqual(driver('{}'), []);
  assert.deepEqual(driver('{tokenRequests: [{audience: a, expirationSeconds: 5}, {audience: a}]}'), [
    'spec.tokenRequests[0].expirationSeconds: Invalid value: 5: may not specify a duration less than 10 minutes',
    'spec.tokenRequests[1].audience: Duplicate value: "a"',
  ]);
  assert.deepEqual(driver('{serviceAccountTokenInSecrets: true}'), [
    'spec.serviceAccountTokenInSecrets: Invalid value: true: serviceAccountTokenInSecrets is set but no tokenRequests are specified',
  ]);
});

test('addresses with leading zeros or mapped into IPv6, and networks with bits beyond the prefix, are refused', () => {
  assert.deepEqual(
    ['10.0.0.1', '::1', 'fd00::a', '10.0.0.01', '::ffff:10.0.0.1', 'x'].map((ip) => checkStrictIp(ip)[0]?.slice(0, 22)),
    [undefined, undefined, undefined, 'must not have leading ', 'must not be an IPv4-ma', 'must be a valid IP add'],
  );
  assert.deepEqual(
    ['10.0.0.0/8', '::/0', 'fd00::/8', '10.0.0.1/8', 'fd00::1/64', '10.0.0.0/08', '10.0.0.0/33'].map((cidr) =>
      checkStrictCidr(cidr)[0]?.slice(0, 27),
    ),
    [
      undefined,
      undefined,
      undefined,
      'must not have bits set beyo',
      'must not have bits set beyo',
      'must not have leading 0s in',
      'must be a valid CIDR value,',
    ],
  );
});
