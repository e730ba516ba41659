import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError } from '../../../../base/errors.ts';
import { podUid } from '../../../model/ids.ts';
import type { TokenOrder, TokenSource } from '../../../ports/tokens.ts';
import { commonUserOf } from './projected.ts';
import { testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

const HOUR_MS = 3_600_000;
const projected = {
  name: 'token',
  projected: { sources: [{ serviceAccountToken: { path: 'token', audience: 'vault', expirationSeconds: 3600 } }] },
};
const file = (uid: string): string => `${volumePath(uid, 'projected', 'token')}/token`;

function world() {
  const orders: TokenOrder[] = [];
  const state: { fails?: string } = {};
  let now = (): number => 0;
  const tokens: TokenSource = {
    request: async (order) => {
      if (state.fails !== undefined) throw new KubeletError('Unavailable', state.fails);
      orders.push(order);
      return { token: `token-${orders.length}`, expiresAtMs: now() + order.expirationSeconds * 1000 };
    },
  };
  const made = volumeWorld({ tokens });
  now = () => made.clock.nowMs();
  return { ...made, orders, state };
}

test('a pod has its token, and gets a new one in time without further requests', async () => {
  const made = world();
  const pod = testPod('u1', [projected], { serviceAccountName: 'robot' });
  await made.manager.ensure(pod);
  assert.deepEqual(
    [made.files.peek(file('u1')), made.orders],
    [
      'token-1',
      [
        {
          namespace: 'default',
          serviceAccount: 'robot',
          audiences: ['vault'],
          expirationSeconds: 3600,
          pod: { name: 'pod-u1', uid: 'u1' },
        },
      ],
    ],
  );
  await made.manager.ensure({ ...pod, metadata: { ...pod.metadata, labels: { a: 'b' } } });
  await made.clock.advance(40 * 60_000);
  assert.equal(made.orders.length, 1);
  await made.clock.advance(9 * 60_000);
  assert.deepEqual([made.files.peek(file('u1')), made.orders.length], ['token-2', 2]);
  await made.manager.tearDown(podUid('u1'));
  await made.clock.advance(2 * HOUR_MS);
  assert.equal(made.orders.length, 2);
});

test('an old token stays while renewal fails, and its expiry is reported', async () => {
  const made = world();
  await made.manager.ensure(testPod('u1', [projected], { serviceAccountName: 'robot' }));
  made.state.fails = 'API server is down';
  await made.clock.advance(59 * 60_000);
  assert.deepEqual([made.files.peek(file('u1')), made.events], ['token-1', []]);
  await made.clock.advance(2 * 60_000);
  assert.match(
    made.events[0] ?? '',
    /MountVolume.SetUp failed for volume "token" : token .* expired and refresh failed: API server is down$/,
  );
  delete made.state.fails;
  await made.clock.advance(3 * 60_000);
  assert.equal(made.files.peek(file('u1')), 'token-2');
});

test('the readers of a token follow fsGroup and the one user of all containers', async () => {
  const containers = [
    { name: 'main', image: 'x', volumeMounts: [{ name: 'token', mountPath: '/t' }], securityContext: { runAsUser: 7 } },
  ];
  const seen = async (spec: object): Promise<number[]> => {
    const made = world();
    await made.manager.ensure(testPod('u1', [projected], spec));
    const info = await made.files.stat(file('u1'));
    return [info?.mode ?? 0, info?.uid ?? 0, info?.gid ?? 0];
  };
  assert.deepEqual(await seen({}), [0o644, 0, 0]);
  assert.deepEqual(await seen({ containers }), [0o600, 7, 0]);
  assert.deepEqual(await seen({ securityContext: { fsGroup: 9 } }), [0o640, 0, 9]);
  assert.equal(
    commonUserOf(
      testPod('u', [], { containers: [...containers, { name: 'b', image: 'x', securityContext: { runAsUser: 8 } }] }),
    ),
    undefined,
  );
});

test('without an API server the pod gets an event that there are no tokens', async () => {
  const made = volumeWorld();
  void made.manager.ensure(testPod('u1', [projected])).catch(() => undefined);
  await made.clock.settle();
  assert.deepEqual(made.events, [
    'pod-u1 Warning FailedMount MountVolume.SetUp failed for volume "token" : failed to fetch token: cannot use TokenManager when kubelet is in standalone mode',
  ]);
});

test('sources whose feature gates are off are rejected, and all problems are reported at once', async () => {
  const made = volumeWorld();
  const sources = [{ clusterTrustBundle: { name: 'x', path: 'ca' } }, { configMap: { name: 'none' } }];
  void made.manager.ensure(testPod('u1', [{ name: 'p', projected: { sources } }])).catch(() => undefined);
  await made.clock.settle();
  assert.match(
    made.events[0] ?? '',
    /: \[ClusterTrustBundle projection is not supported in static kubelet mode: .*, configmap "none" not found\]$/,
  );
});
