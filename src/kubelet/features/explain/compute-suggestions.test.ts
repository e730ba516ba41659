import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadManifest } from '../../../api/manifest/load-manifest.ts';
import { inDefaultNamespace } from '../../../api/manifest/manifest-kinds.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import type { Changes } from '../../../api/testing/pod-builder.ts';
import type { SuggestionObjects } from './compute-suggestions.ts';
import { computeSuggestions } from './compute-suggestions.ts';

/** Reads the objects of a manifest text. */
function objectsOf(text: string): SuggestionObjects {
  const { objects, errors } = loadManifest(text, { fileName: 'f' });
  assert.deepEqual(errors, []);
  const entries = objects.map(inDefaultNamespace);
  const list: SuggestionObjects['list'] = (kind, namespace) =>
    entries
      .filter((entry) => entry.kind === kind && (namespace === '' || entry.object.metadata.namespace === namespace))
      .map(({ object }) => object) as never;
  return { list, get: (kind, namespace, name) => list(kind, namespace).find(({ metadata }) => metadata.name === name) };
}

const suggestions = (
  changes: Changes,
  text = '{apiVersion: v1, kind: ConfigMap, metadata: {name: unused}}',
  manifests = '/m',
): string[] =>
  computeSuggestions(buildPod(changes), {
    objects: objectsOf(text),
    manifests,
    registry: '/r',
    isDriverThere: (name) => name === 'there.example',
  });

const c0 = 'spec.containers[0]';
const volume = (source: object): Changes => ({
  'spec.volumes': [{ name: 'v', ...source }],
  [`${c0}.volumeMounts`]: [{ name: 'v', mountPath: '/v' }],
});
const claimed = volume({ persistentVolumeClaim: { claimName: 'c' } });
const claim = (spec: string): string =>
  `{apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: c}, spec: {accessModes: [ReadWriteOnce], storageClassName: '', resources: {requests: {storage: 5Gi}}, ${spec}}}`;
const disk = (name: string, size: string, more = ''): string =>
  `{apiVersion: v1, kind: PersistentVolume, metadata: {name: ${name}}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: ${size}}, hostPath: {path: /d}, ${more}}}`;
const file = (...objects: string[]): string => objects.join('\n---\n');

test('a pod that misses nothing gets no suggestion', () => {
  assert.deepEqual(suggestions({}), []);
  assert.deepEqual(
    suggestions(
      volume({ configMap: { name: 'c', items: [{ key: 'a', path: 'a' }] } }),
      '{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: x}}',
    ),
    [],
  );
  assert.deepEqual(suggestions(volume({ configMap: { name: 'gone', optional: true } })), []);
  assert.deepEqual(
    suggestions({ 'spec.volumes': [{ name: 'v', configMap: { name: 'gone' } }] }),
    [],
    'no container uses it',
  );
});

test('a missing object is named once, with the place to put it', () => {
  const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
  assert.deepEqual(
    suggestions({
      ...volume({ projected: { sources: [{ configMap: { name: 'c' } }, { secret: { name: 's' } }] } }),
      [`${c0}.env`]: env,
      'spec.runtimeClassName': 'gvisor',
    }),
    [
      'Secret default/s does not exist: put it into /m',
      'ConfigMap default/c does not exist: put it into /m',
      'RuntimeClass gvisor does not exist: put it into /m',
    ],
  );
  assert.deepEqual(suggestions({ 'spec.imagePullSecrets': [{ name: 'pull' }] }), [
    'Secret default/pull does not exist: put it into /m',
  ]);
  assert.deepEqual(suggestions({ [`${c0}.envFrom`]: [{ configMapRef: { name: 'c' } }] }, undefined, ''), [
    'ConfigMap default/c does not exist: put it beside the pod',
  ]);
});

test('an object in another namespace is named', () => {
  assert.deepEqual(
    suggestions(
      volume({ configMap: { name: 'c' } }),
      '{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: web}}',
    ),
    [
      'ConfigMap default/c does not exist, but one of that name is in namespace web: a pod uses only those of its own namespace',
    ],
  );
});

test('a missing key is named with the existing ones, and never with a value', () => {
  const text = file(
    '{apiVersion: v1, kind: ConfigMap, metadata: {name: c}, data: {a: secret-a}, binaryData: {b: eA==}}',
    '{apiVersion: v1, kind: Secret, metadata: {name: s}}',
  );
  assert.deepEqual(suggestions(volume({ configMap: { name: 'c', items: [{ key: 'x', path: 'x' }] } }), text), [
    'ConfigMap default/c has no key x; it has a, b',
  ]);
  assert.deepEqual(
    suggestions({ [`${c0}.env`]: [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }, text),
    ['Secret default/s has no key k; it has none'],
  );
});

test('a claim that names no volume gets the volumes that fit: free, large enough, of its modes and class', () => {
  assert.deepEqual(suggestions(claimed), ['PersistentVolumeClaim default/c does not exist: put it into /m']);
  const start =
    'PersistentVolumeClaim default/c names no volume in its spec.volumeName, and there is no controller that binds it';
  const others = [
    disk('small', '1Gi'),
    disk('taken', '9Gi', 'claimRef: {namespace: default, name: other}'),
    disk('fast', '9Gi', 'storageClassName: fast'),
    disk('raw', '9Gi', 'volumeMode: Block'),
  ];
  assert.deepEqual(suggestions(claimed, file(claim(''), ...others, disk('two', '6Gi'), disk('one', '5Gi'))), [
    `${start}: name one that fits, one (5Gi), two (6Gi)`,
  ]);
  assert.deepEqual(suggestions(claimed, file(claim(''), ...others)), [
    `${start}; no free PersistentVolume fits it: put one into /m`,
  ]);
});

test('a claim whose volume is missing, or belongs to another, gets that as its reason', () => {
  assert.deepEqual(suggestions(claimed, claim('volumeName: d')), [
    'PersistentVolume d, which PersistentVolumeClaim default/c names in its spec.volumeName, does not exist: put it into /m',
  ]);
  assert.deepEqual(
    suggestions(claimed, file(claim('volumeName: d'), disk('d', '9Gi', 'claimRef: {namespace: web, name: x}'))),
    [
      'PersistentVolumeClaim default/c names PersistentVolume d, whose claimRef says that it belongs to web/x: change one of them',
    ],
  );
  assert.deepEqual(suggestions(claimed, file(claim('volumeName: d'), disk('d', '9Gi'))), []);
});

test('a missing driver is named with its registration folder', () => {
  const missing = 'CSI driver gone.example is not running on this node, or has not registered by a socket in /r';
  assert.deepEqual(suggestions(volume({ csi: { driver: 'gone.example' } })), [
    missing,
    'CSIDriver gone.example does not exist: put it into /m, with volumeLifecycleModes: [Ephemeral]',
  ]);
  const csi = (driver: string): string =>
    `{apiVersion: v1, kind: PersistentVolume, metadata: {name: d}, spec: {accessModes: [ReadWriteOnce], capacity: {storage: 9Gi}, csi: {driver: ${driver}, volumeHandle: h}}}`;
  assert.deepEqual(
    [
      suggestions(claimed, file(claim('volumeName: d'), csi('gone.example'))),
      suggestions(claimed, file(claim('volumeName: d'), csi('there.example'))),
    ],
    [[missing], []],
  );
});

test('in a cluster a suggestion is a command, and an unknown object is not called missing', () => {
  const inCluster = (changes: Changes, text?: string, unknown: readonly string[] = []): string[] =>
    computeSuggestions(buildPod(changes), {
      objects: {
        ...objectsOf(text ?? '{apiVersion: v1, kind: ConfigMap, metadata: {name: unused}}'),
        isUnknown: (_, __, name) => unknown.includes(name),
      },
      inCluster: true,
      manifests: '/m',
      registry: '/r',
      isDriverThere: () => true,
    });
  const env = [{ name: 'A', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }];
  assert.deepEqual(
    inCluster({ ...volume({ configMap: { name: 'c' } }), [`${c0}.env`]: env, 'spec.runtimeClassName': 'gvisor' }),
    [
      'Secret default/s does not exist: kubectl create secret generic s -n default --from-literal=k=VALUE',
      'ConfigMap default/c does not exist: kubectl create configmap c -n default --from-literal=KEY=VALUE',
      'RuntimeClass gvisor does not exist: kubectl apply -f with a RuntimeClass of that name',
    ],
  );
  assert.deepEqual(
    inCluster({ ...volume({ configMap: { name: 'c' } }), [`${c0}.env`]: env }, undefined, ['c', 's']),
    [],
  );
  assert.deepEqual(inCluster(volume({ configMap: { name: 'kube-root-ca.crt' } })), [
    'ConfigMap default/kube-root-ca.crt does not exist: the control plane creates it in each namespace; check that its controllers run',
  ]);
  assert.deepEqual(inCluster(claimed), [
    'PersistentVolumeClaim default/c does not exist: kubectl apply -n default -f with a PersistentVolumeClaim of that name',
  ]);
  assert.deepEqual(inCluster(claimed, claim('')), [
    'PersistentVolumeClaim default/c is not bound: kubectl describe pvc c -n default says why',
  ]);
});
