import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadManifest } from '../manifest/load-manifest.ts';
import { inDefaultNamespace, validateObject } from '../manifest/manifest-kinds.ts';
import { objectWarnings } from './object-warnings.ts';
import { warningText } from './pod/pod-warnings.ts';

/** The warnings for the one valid object in the text. */
function warnings(text: string): string[] {
  const { objects, errors } = loadManifest(text, { fileName: 'f' });
  const entries = objects.map(inDefaultNamespace);
  assert.deepEqual([errors, entries.flatMap((entry) => validateObject(entry))], [[], []]);
  return entries.flatMap((entry) => objectWarnings(entry)).map(warningText);
}
const volume = (spec: string, metadata = ''): string[] =>
  warnings(
    `{apiVersion: v1, kind: PersistentVolume, metadata: {name: p, ${metadata}}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 1Gi}, hostPath: {path: /a}, ${spec}}}`,
  );
const service = (spec: string): string[] =>
  warnings(`{apiVersion: v1, kind: Service, metadata: {name: s}, spec: {ports: [{port: 80}], ${spec}}}`);

test('a correct object has no warnings', () => {
  assert.deepEqual(
    [
      volume(''),
      service(''),
      service('clusterIP: None'),
      warnings('{apiVersion: v1, kind: ConfigMap, metadata: {name: c}}'),
    ],
    [[], [], [], []],
  );
});

test('volumes and claims are warned of old ways and parts of a byte', () => {
  assert.deepEqual(
    volume('persistentVolumeReclaimPolicy: Recycle', 'annotations: {volume.beta.kubernetes.io/mount-options: ro}'),
    [
      'metadata.annotations[volume.beta.kubernetes.io/mount-options]: deprecated since v1.31; use "mountOptions" attribute instead',
      'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.',
    ],
  );
  assert.deepEqual(
    volume(
      'nodeAffinity: {required: {nodeSelectorTerms: [{matchExpressions: [{key: beta.kubernetes.io/os, operator: Exists}]}]}}',
    ),
    [
      'spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is deprecated since v1.14; use "kubernetes.io/os" instead',
    ],
  );
  assert.deepEqual(
    warnings(
      '{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1500m}}}}',
    ),
    ['spec.resources.requests[storage]: fractional byte value "1500m" is invalid, must be an integer'],
  );
});

test('a service is warned of what does nothing', () => {
  assert.deepEqual(service('clusterIP: None, externalIPs: [10.0.0.1]'), [
    'spec.externalIPs is ignored for headless services',
  ]);
  assert.deepEqual(service('externalIPs: [10.0.0.1], externalName: a.b'), [
    'spec.externalIPs is deprecated and may no longer be implemented in some clusters',
    'spec.externalName is ignored when spec.type is not "ExternalName"',
  ]);
  assert.deepEqual(service('trafficDistribution: PreferClose'), [
    'spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"',
  ]);
});

test('warns about deprecated labels in the node selector of a RuntimeClass', () => {
  assert.deepEqual(
    warnings(
      '{apiVersion: node.k8s.io/v1, kind: RuntimeClass, metadata: {name: r}, handler: h, scheduling: {nodeSelector: {beta.kubernetes.io/arch: amd64}}}',
    ),
    ['scheduling.nodeSelector: deprecated since v1.14; use "kubernetes.io/arch" instead'],
  );
});
