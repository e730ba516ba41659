import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { ClusterTrustBundle } from '../../../api/certificates/cluster-trust-bundle.ts';
import { createInformer } from '../../../api/client/informer.ts';
import { clusterTrustBundles } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { errorMessage } from '../../../base/errors.ts';
import { readPemBlocks } from '../../../base/pem-blocks.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { internalError } from '../../../api/status/api-status-error.ts';
import { TrustBundles } from './trust-bundles.ts';

const pem = (text: string): string =>
  `-----BEGIN CERTIFICATE-----\n${Buffer.from(text).toString('base64')}\n-----END CERTIFICATE-----\n`;
const texts = (bundle: string): readonly string[] =>
  readPemBlocks(bundle).map(({ der }) => Buffer.from(der).toString());
const bundle = (
  name: string,
  trustBundle: string,
  { signerName, labels = {} }: { signerName?: string; labels?: Record<string, string> } = {},
): ClusterTrustBundle => ({
  metadata: { name, namespace: '', uid: name, labels },
  spec: { trustBundle, ...(signerName !== undefined && { signerName }) },
});

function setUp(salt = 'salt') {
  const clock = new FakeClock();
  const api = new FakeApiClient({ clock });
  const changes: string[] = [];
  const informer = createInformer({
    client: api,
    type: clusterTrustBundles,
    namespace: '',
    clock,
    random: seededRandom(1),
    log: recordingLog(),
  });
  const trust = new TrustBundles({ informer, clock, salt, onChange: ({ name }) => changes.push(name) });
  return { api, clock, trust, changes };
}

it('nothing is followed until a pod needs it', async () => {
  const { api, clock, trust } = setUp();
  await clock.advance(60_000);
  assert.deepEqual(api.calls, []);
  api.seed(clusterTrustBundles, bundle('ca', pem('one')));
  assert.equal(await trust.byName('ca', false), pem('one'));
  await trust.stop();
});

it('a bundle has each certificate once, without words, in an order that another start of the agent changes', async () => {
  const all = Array.from({ length: 8 }, (_, index) => `certificate ${index}`);
  const orders = await Promise.all(
    ['a', 'a', 'b'].map(async (salt) => {
      const { api, trust } = setUp(salt);
      api.seed(clusterTrustBundles, bundle('ca', `words\n${[...all, ...all].map(pem).join('and\n')}`));
      const found = texts(await trust.byName('ca', false));
      await trust.stop();
      return found;
    }),
  );
  const [first = [], same, other] = orders;
  assert.deepEqual([...first].sort(), all);
  assert.deepEqual(same, first);
  assert.notDeepEqual(other, first);
});

it('a signer has the bundles that the labels select: all of them by an empty selector, none without one', async () => {
  const { api, trust } = setUp();
  const signerName = 'example.com/foo';
  api.seed(clusterTrustBundles, bundle('example.com:foo:1', pem('one'), { signerName, labels: { live: 'yes' } }));
  api.seed(clusterTrustBundles, bundle('example.com:foo:2', pem('two') + pem('one'), { signerName }));
  api.seed(clusterTrustBundles, bundle('other', pem('three'), { labels: { live: 'yes' } }));
  const none = 'combination of signerName and labelSelector matched zero ClusterTrustBundles';
  assert.deepEqual([...texts(await trust.bySigner(signerName, {}, false))].sort(), ['one', 'two']);
  assert.deepEqual(texts(await trust.bySigner(signerName, { matchLabels: { live: 'yes' } }, false)), ['one']);
  assert.equal(await trust.bySigner(signerName, undefined, false).catch(errorMessage), none);
  assert.equal(await trust.bySigner('example.com/bar', {}, false).catch(errorMessage), none);
  assert.equal(await trust.bySigner('example.com/bar', {}, true), '');
  assert.match(
    String(await trust.byName('gone', false).catch(errorMessage)),
    /ca.*|clustertrustbundle.*"gone" not found/,
  );
  assert.equal(await trust.byName('gone', true), '');
  await trust.stop();
});

it('volumes are notified of new, changed and deleted bundles, by name and by signer', async () => {
  const { api, clock, trust, changes } = setUp();
  await trust.byName('none', true);
  const key = { namespace: '', name: 'example.com:foo:1' };
  api.seed(clusterTrustBundles, bundle(key.name, pem('one'), { signerName: 'example.com/foo' }));
  await clock.settle();
  assert.deepEqual(changes.splice(0), [key.name, 'signer/example.com/foo']);
  api.change(clusterTrustBundles, key, (old) => ({ ...old, spec: { ...old.spec, trustBundle: pem('two') } }));
  await clock.settle();
  assert.deepEqual(changes.splice(0), [key.name, 'signer/example.com/foo']);
  api.remove(clusterTrustBundles, key);
  await clock.settle();
  assert.deepEqual(changes, [key.name, 'signer/example.com/foo']);
  await trust.stop();
});

it('while bundles cannot be listed the error says why', async () => {
  const { api, clock, trust } = setUp();
  api.script(() => internalError('no such kind'));
  const asked = trust.byName('ca', true).catch(errorMessage);
  await clock.advance(1_000);
  assert.match(String(await asked), /^ClusterTrustBundle informer has not yet synced: .*no such kind/);
  await trust.stop();
});
