import assert from 'node:assert/strict';
import test from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { configMaps, endpoints, endpointSlices, services } from '../../../api/client/resource-types.ts';
import { FakeApiClient } from '../../../api/client/testing/fake-api-client.ts';
import { invalid } from '../../../api/status/api-status-error.ts';
import { ensureBootstrapObjects } from './bootstrap-objects.ts';

const facts = {
  advertiseAddress: '192.0.2.1',
  securePort: 6443,
  serverAddresses: ['192.0.2.1'],
  serviceIp: '10.96.0.1',
  authority: 'PEM',
  authenticationConfig: { 'client-ca-file': 'PEM' },
  serviceCidrs: ['10.96.0.0/12'],
  version: 'v1.36.0',
};
const moved = { advertiseAddress: '192.0.2.2', serverAddresses: ['192.0.2.2'] };
const key = { namespace: 'default', name: 'kubernetes' };
const addressTaken = (): Error =>
  invalid({ group: '', kind: 'Service' }, 'kubernetes', [
    { type: 'Invalid value', field: 'spec.clusterIPs', message: 'Invalid value: provided IP is already allocated' },
  ]);

test('a server that starts again leaves what there is and says where it is now', async () => {
  const client = new FakeApiClient({ clock: new FakeClock() });
  await ensureBootstrapObjects(client, facts, 0);
  const service = await client.get(services, key);
  client.script(({ verb, plural }) => (verb === 'create' && plural === 'services' ? addressTaken() : undefined));
  await ensureBootstrapObjects(client, { ...facts, ...moved }, 0);
  assert.deepEqual(await client.get(services, key), service);
  assert.equal((await client.get(endpoints, key)).subsets?.[0]?.addresses?.[0]?.ip, '192.0.2.2');
});

test('of two servers that start at once, the slower one goes on with what the other made', async () => {
  const client = new FakeApiClient({ clock: new FakeClock() });
  let asked = 0;
  const other = new FakeApiClient({ clock: new FakeClock() });
  await ensureBootstrapObjects(other, facts, 0);
  const made = await other.get(services, key);
  const end = client.script(({ verb, plural }) => {
    if (verb !== 'create' || plural !== 'services') return undefined;
    asked++;
    end();
    // Between the look and the attempt the other server made it.
    const { resourceVersion: _, ...metadata } = made.metadata;
    void client.create(services, { ...made, metadata });
    return addressTaken();
  });
  await ensureBootstrapObjects(client, facts, 0);
  assert.equal(asked, 1);
  assert.equal((await client.get(services, key)).spec.clusterIP, '10.96.0.1');
});

test('a service that cannot be made is not passed over', async () => {
  const client = new FakeApiClient({ clock: new FakeClock() });
  client.script(({ verb, plural }) => (verb === 'create' && plural === 'services' ? addressTaken() : undefined));
  await assert.rejects(ensureBootstrapObjects(client, facts, 0), /already allocated/);
});

test('who joins finds where the cluster is and how it is set up, and what it says stays true', async () => {
  const client = new FakeApiClient({ clock: new FakeClock() });
  await ensureBootstrapObjects(client, facts, 0);
  const info = { namespace: 'kube-public', name: 'cluster-info' };
  const first = await client.get(configMaps, info);
  assert.match(
    first.data?.['kubeconfig'] ?? '',
    /clusters:\n- cluster:\n {4}certificate-authority-data: UEVN\n {4}server: https:\/\/192\.0\.2\.1:6443\n {2}name: ""/,
  );
  await client.update(configMaps, { ...first, data: { ...first.data, 'jws-kubeconfig-abcdef': 'signed' } });
  const settings = { namespace: 'kube-system', name: 'kubelet-config' };
  await client.update(configMaps, { ...(await client.get(configMaps, settings)), data: { kubelet: 'the operator’s' } });
  await ensureBootstrapObjects(client, { ...facts, ...moved }, 0);
  const second = (await client.get(configMaps, info)).data ?? {};
  assert.deepEqual(
    [second['jws-kubeconfig-abcdef'], second['kubeconfig']?.includes('https://192.0.2.2:6443')],
    ['signed', true],
  );
  assert.equal((await client.get(configMaps, settings)).data?.['kubelet'], 'the operator’s');
  const { version } = await client
    .get(configMaps, { namespace: 'kube-system', name: 'kubeadm-config' })
    .then(({ data }) => ({ version: data?.['ClusterConfiguration'] }));
  assert.match(
    version ?? '',
    /^apiVersion: kubeadm\.k8s\.io\/v1beta4\n[\s\S]*kind: ClusterConfiguration\nkubernetesVersion: v1\.36\.0\n/,
  );
});

test('several servers name the same endpoints, and none overwrites where another said that the cluster is', async () => {
  const client = new FakeApiClient({ clock: new FakeClock() });
  const serverAddresses = ['127.0.0.1', '192.0.2.1', '192.0.2.2', '2001:db8::1'];
  const info = { namespace: 'kube-public', name: 'cluster-info' };
  await ensureBootstrapObjects(client, { ...facts, serverAddresses }, 0);
  const shown = async (): Promise<unknown> => [
    (await client.get(endpoints, key)).subsets?.[0]?.addresses?.map(({ ip }) => ip),
    (await client.get(endpointSlices, key)).endpoints?.map(({ addresses }) => addresses),
    (await client.get(configMaps, info)).data?.['kubeconfig'],
  ];
  const before = await shown();
  assert.deepEqual((before as unknown[]).slice(0, 2), [
    ['192.0.2.1', '192.0.2.2'],
    [['192.0.2.1'], ['192.0.2.2']],
  ]);
  await ensureBootstrapObjects(client, { ...facts, serverAddresses, advertiseAddress: '192.0.2.2' }, 0);
  assert.deepEqual(await shown(), before);
  await ensureBootstrapObjects(client, { ...facts, ...moved }, 0);
  assert.match((await client.get(configMaps, info)).data?.['kubeconfig'] ?? '', /server: https:\/\/192\.0\.2\.2:6443/);
});
