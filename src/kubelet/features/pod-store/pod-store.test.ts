import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Pod } from '../../../api/core/pod.ts';
import { buildPod } from '../../../api/testing/pod-builder.ts';
import { podUid } from '../../model/ids.ts';
import type { ClusterKind } from '../../ports/cluster-objects.ts';
import { PodStore } from './pod-store.ts';

function pod(
  uid: string,
  options: { name?: string; source?: string; mirror?: boolean; secret?: string; configMap?: string } = {},
): Pod {
  const { name = 'web', source = 'file', mirror = false, secret, configMap } = options;
  return {
    metadata: {
      name,
      namespace: 'default',
      uid,
      annotations: {
        'kubernetes.io/config.source': source,
        ...(mirror ? { 'kubernetes.io/config.mirror': 'hash' } : {}),
      },
    },
    spec: {
      containers: [{ name: 'c', envFrom: configMap === undefined ? [] : [{ configMapRef: { name: configMap } }] }],
      volumes: secret === undefined ? [] : [{ name: 'v', secret: { secretName: secret } }],
    },
  };
}

test('a pod is found by uid, by name and by the objects it refers to, until it is removed', () => {
  const store = new PodStore();
  store.set(pod('1', { secret: 's', configMap: 'm' }));
  const uids = (pods: Pod[]): string[] => pods.map((each) => each.metadata.uid);
  assert.deepEqual(
    [
      store.byUid(podUid('1'))?.metadata.uid,
      store.byName('default', 'web')?.metadata.uid,
      uids(store.podsUsing('Secret', 'default', 's')),
      uids(store.podsUsing('ConfigMap', 'default', 'm')),
    ],
    ['1', '1', ['1'], ['1']],
  );
  store.remove(podUid('1'));
  assert.deepEqual(
    [store.byUid(podUid('1')), store.byName('default', 'web'), store.podsUsing('Secret', 'default', 's'), store.size],
    [undefined, undefined, [], 0],
  );
});

test('a pod that no longer refers to a secret is not notified of its changes', () => {
  const store = new PodStore();
  store.set(pod('1', { secret: 'old' }));
  store.set(pod('1', { secret: 'new' }));
  assert.deepEqual(
    [store.podsUsing('Secret', 'default', 'old').length, store.podsUsing('Secret', 'default', 'new').length],
    [0, 1],
  );
});

test('a secret of another namespace is another secret', () => {
  const store = new PodStore();
  store.set(pod('1', { secret: 's' }));
  assert.deepEqual(store.podsUsing('Secret', 'other', 's'), []);
});

test('removing a predecessor leaves its successor under the name, and the reverse', () => {
  const store = new PodStore();
  store.set(pod('1'));
  store.set(pod('2'));
  store.remove(podUid('1'));
  assert.equal(store.byName('default', 'web')?.metadata.uid, '2');
  store.set(pod('3'));
  store.remove(podUid('3'));
  assert.equal(store.byName('default', 'web')?.metadata.uid, '2');
});

test('a mirror pod is matched with its static pod by name and never counts as one to run', () => {
  const store = new PodStore();
  const own = pod('static');
  const mirror = pod('mirror', { source: 'api', mirror: true });
  store.set(own);
  store.set(mirror);
  assert.deepEqual(
    [
      store.pods().length,
      store.mirrorOf(own)?.metadata.uid,
      store.staticOf(mirror)?.metadata.uid,
      store.runningUid(podUid('mirror')),
      store.runningUid(podUid('x')),
      store.orphanMirrors(),
    ],
    [1, 'mirror', 'static', 'static', 'x', []],
  );
  store.remove(podUid('static'));
  assert.deepEqual(
    store.orphanMirrors().map((each) => each.metadata.uid),
    ['mirror'],
  );
});

test("an API pod that has a mirror's name is not treated as its static pod", () => {
  const store = new PodStore();
  store.set(pod('api', { source: 'api' }));
  store.set(pod('mirror', { source: 'api', mirror: true }));
  assert.equal(store.staticOf(store.mirrorByUid(podUid('mirror')) as Pod), undefined);
});

test('the pods that use a claim or a runtime class are found, so that waiting pods are notified', () => {
  const store = new PodStore();
  store.set(
    buildPod({
      'metadata.uid': '1',
      'metadata.name': 'web',
      'metadata.namespace': 'default',
      'spec.runtimeClassName': 'r',
      'spec.volumes': [
        { name: 'a', persistentVolumeClaim: { claimName: 'c' } },
        { name: 'b', ephemeral: { volumeClaimTemplate: { spec: {} } } },
      ],
    }),
  );
  const users = (kind: ClusterKind, namespace: string, name: string): number =>
    store.podsUsing(kind, namespace, name).length;
  assert.deepEqual(
    [
      users('RuntimeClass', '', 'r'),
      users('PersistentVolumeClaim', 'default', 'c'),
      users('PersistentVolumeClaim', 'default', 'web-b'),
      users('PersistentVolume', '', 'c'),
    ],
    [1, 1, 1, 0],
  );
});
