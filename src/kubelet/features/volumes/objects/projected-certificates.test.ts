import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { VolumeProjection } from '../../../../api/core/volume-source.ts';
import { KubeletError } from '../../../../base/errors.ts';
import { trustedSigner } from '../../../ports/pod-credentials.ts';
import type { CertificateOrder, PodCertificates, TrustAnchors } from '../../../ports/pod-credentials.ts';
import { testPod, volumePath, volumeWorld } from '../testing/volume-world.ts';

const SIGNER = 'example.com/foo';
const certificateSource = {
  signerName: SIGNER,
  keyType: 'ED25519',
  credentialBundlePath: 'bundle',
  keyPath: 'key',
  certificateChainPath: 'chain',
};

function setUp(sources: readonly VolumeProjection[]) {
  const shown = { trust: 'CA', issued: true, chain: 'CHAIN' };
  const orders: CertificateOrder[] = [];
  const forgotten: string[] = [];
  const trust: TrustAnchors = {
    byName: (name) => Promise.resolve(`${name} ${shown.trust}`),
    bySigner: (signer) => Promise.resolve(`${signer} ${shown.trust}`),
  };
  const certificates: PodCertificates = {
    get: (order) => {
      orders.push(order);
      return shown.issued
        ? Promise.resolve({ key: 'KEY', chain: shown.chain, againInMs: 3_600_000 })
        : Promise.reject(new KubeletError('Unavailable', 'credential bundle is not issued yet'));
    },
    forget: (uid) => void forgotten.push(uid),
  };
  const world = volumeWorld({ credentials: { trust, certificates } });
  const pod = testPod('u1', [{ name: 'p', projected: { sources: [...sources] } }]);
  const read = (file: string): Promise<string> =>
    world.files.readText(`${volumePath('u1', 'projected', 'p')}/..data/${file}`);
  return { ...world, pod, shown, orders, forgotten, read };
}

test('a certificate and its key are in one or two files, and the certificate is renewed in time', async () => {
  const world = setUp([{ configMap: { name: 'none', optional: true } }, { podCertificate: certificateSource }]);
  const ready = world.manager.ensure(world.pod);
  await world.clock.settle();
  await ready;
  assert.deepEqual(await Promise.all(['bundle', 'key', 'chain'].map(world.read)), ['KEYCHAIN', 'KEY', 'CHAIN']);
  const [order] = world.orders;
  assert.deepEqual([order?.volume, order?.sourceIndex, order?.source], ['p', 1, certificateSource]);
  world.shown.chain = 'NEXT';
  await world.clock.advance(3_600_000);
  assert.equal(await world.read('chain'), 'NEXT');
});

test('a pod waits for its certificate, and goes on when it is issued', async () => {
  const world = setUp([{ podCertificate: certificateSource }]);
  world.shown.issued = false;
  const ready = world.manager.ensure(world.pod);
  await world.clock.settle();
  assert.deepEqual(world.events, [
    'pod-u1 Warning FailedMount MountVolume.SetUp failed for volume "p" : credential bundle is not issued yet',
  ]);
  world.shown.issued = true;
  world.manager.objectChanged({ kind: 'PodCertificateRequest', namespace: 'default', name: 'u1' });
  await world.clock.settle();
  await ready;
  assert.equal(await world.read('key'), 'KEY');
});

test('bundles are shown by name or by signer, and follow changes', async () => {
  const world = setUp([
    { clusterTrustBundle: { name: 'ca', path: 'named' } },
    { clusterTrustBundle: { signerName: SIGNER, labelSelector: {}, path: 'signed' } },
  ]);
  const ready = world.manager.ensure(world.pod);
  await world.clock.settle();
  await ready;
  assert.deepEqual([await world.read('named'), await world.read('signed')], ['ca CA', 'example.com/foo CA']);
  for (const [name, content] of [
    ['ca', 'NEW'],
    [trustedSigner(SIGNER), 'NEWER'],
  ] as const) {
    world.shown.trust = content;
    world.manager.objectChanged({ kind: 'ClusterTrustBundle', namespace: '', name });
    await world.clock.settle();
    assert.equal(await world.read('signed'), `example.com/foo ${content}`);
  }
  world.shown.trust = 'OTHER';
  world.manager.objectChanged({ kind: 'ClusterTrustBundle', namespace: '', name: 'unrelated' });
  await world.clock.settle();
  assert.equal(await world.read('named'), 'ca NEWER');
});
