import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import type { PodSpec } from '../../../api/core/pod-spec.ts';
import { fnv128a } from './fnv128a.ts';
import { selectForbiddenReference, toStaticPod } from './static-pod.ts';

function pod(spec: Partial<PodSpec> = {}, uid = ''): Pod {
  return { metadata: { name: 'web', namespace: '', uid }, spec: { containers: [{ name: 'c', image: 'a' }], ...spec } };
}
const file = { kind: 'file', path: '/etc/manifests/web.yaml' } as const;

test('the hash is FNV-1a with 128 bits', () => {
  assert.deepEqual(
    [fnv128a(''), fnv128a('a'), fnv128a('foobar')],
    ['6c62272e07bb014262b821756295c58d', 'd228cb696f1a8caf78912b704e4a8964', '343e1662793c64bf6f0d3597ba446f18'],
  );
});

test('a static pod is bound to the node, named after it, pending and tolerates node problems', () => {
  const made = toStaticPod(pod(), file, 'Node-1');
  const uid = made.metadata.uid;
  assert.match(uid, /^[0-9a-f]{32}$/);
  assert.deepEqual(made, {
    metadata: { name: 'web-node-1', namespace: 'default', uid, annotations: { 'kubernetes.io/config.hash': uid } },
    spec: {
      containers: [{ name: 'c', image: 'a' }],
      nodeName: 'Node-1',
      tolerations: [{ operator: 'Exists', effect: 'NoExecute' }],
    },
    status: { phase: 'Pending' },
  });
});

test('a pod from a URL gets no toleration, as in upstream', () => {
  assert.equal(toStaticPod(pod(), { kind: 'http', url: 'http://x/' }, 'n').spec.tolerations, undefined);
});

test('the toleration is not added twice', () => {
  const tolerations = [{ operator: 'Exists', effect: 'NoExecute' }] as const;
  assert.equal(toStaticPod(pod({ tolerations: [...tolerations] }), file, 'n').spec.tolerations?.length, 1);
});

test('the uid depends on content, node and path only', () => {
  const uid = (given: Pod, origin: typeof file | { kind: 'file'; path: string } = file, node = 'n'): string =>
    toStaticPod(given, origin, node).metadata.uid;
  const base = uid(pod());
  assert.equal(uid(pod()), base);
  assert.equal(
    uid({
      spec: { containers: [{ image: 'a', name: 'c' }] },
      metadata: { uid: '', namespace: '', name: 'web', labels: undefined },
    }),
    base,
  );
  assert.equal(uid({ ...pod(), status: { phase: 'Running' } }), base);
  assert.notEqual(uid(pod({ hostNetwork: true })), base);
  assert.notEqual(uid(pod(), { kind: 'file', path: '/elsewhere' }), base);
  assert.notEqual(uid(pod(), file, 'other'), base);
});

test('the uid of a known manifest does not change between versions of the agent', () => {
  assert.equal(toStaticPod(pod(), file, 'node-1').metadata.uid, 'ce9e05a1b03951910c1195e9768e2fdb');
});

test('a uid in the manifest is kept', () => {
  assert.equal(toStaticPod(pod({}, 'mine'), file, 'n').metadata.uid, 'mine');
});

test('references to API objects are named as upstream names them', () => {
  const cases: [Partial<PodSpec>, string | undefined, string | undefined][] = [
    [{}, undefined, undefined],
    [{ serviceAccountName: 'sa' }, 'serviceaccounts', 'serviceaccounts'],
    [{ volumes: [{ name: 'v', secret: { secretName: 's' } }] }, 'secrets', undefined],
    [{ volumes: [{ name: 'v', configMap: { name: 'm' } }] }, 'configmaps', undefined],
    [
      { containers: [{ name: 'c', env: [{ name: 'E', valueFrom: { secretKeyRef: { name: 's', key: 'k' } } }] }] },
      'secrets',
      undefined,
    ],
    [{ initContainers: [{ name: 'i', envFrom: [{ configMapRef: { name: 'm' } }] }] }, 'configmaps', undefined],
    [{ imagePullSecrets: [{ name: 's' }] }, 'secrets', undefined],
    [{ resourceClaims: [{ name: 'r' }] }, 'resourceclaims', 'resourceclaims'],
    [{ volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'p' } }] }, 'persistentvolumeclaims', undefined],
    [
      { volumes: [{ name: 'v', projected: { sources: [{ serviceAccountToken: { path: 't' } }] } }] },
      'serviceaccounts (via projected volumes)',
      'serviceaccounts (via projected volumes)',
    ],
    [{ volumes: [{ name: 'v', projected: { sources: [{ secret: { name: 's' } }] } }] }, 'secrets', undefined],
    [{ volumes: [{ name: 'v', csi: { driver: 'd' } }] }, 'csidrivers (via CSI volumes)', undefined],
    [
      {
        volumes: [
          { name: 'v', emptyDir: {} },
          { name: 'h', hostPath: { path: '/' } },
        ],
      },
      undefined,
      undefined,
    ],
  ];
  for (const [spec, cluster, standalone] of cases) {
    assert.deepEqual(
      [
        selectForbiddenReference(pod(spec), { localObjects: false }),
        selectForbiddenReference(pod(spec), { localObjects: true }),
      ],
      [cluster, standalone],
      JSON.stringify(spec),
    );
  }
});
