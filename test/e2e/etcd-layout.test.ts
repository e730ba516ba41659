// How objects are stored in etcd: keys with a prefix, values in protobuf or JSON, both of which can be read.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { EtcdStorage } from '../../src/control-plane/storage/etcd/etcd-storage.ts';
import { plainText } from '../../src/control-plane/storage/value-codec.ts';
import { startEtcd } from '../integration/support/etcd.ts';
import type { TestEtcd } from '../integration/support/etcd.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';

describe('objects in etcd', () => {
  let etcd: TestEtcd;
  let cluster: TestCluster;
  const protobuf = '--storage-media-type=application/vnd.kubernetes.protobuf';
  before(async () => {
    etcd = await startEtcd();
    cluster = await startCluster({ etcd, flags: ['--etcd-prefix=/shop/live', protobuf] });
  });
  after(async () => {
    await cluster.stop();
    await etcd.stop();
  });

  /** Keys and values as bytes, as etcd returns them. */
  const read = async (prefix: string): Promise<string> => {
    const codec = { ...plainText, decode: (bytes: Uint8Array) => Buffer.from(bytes).toString('latin1') };
    const store = new EtcdStorage({ endpoints: [etcd.endpoint], clock: systemClock, log: silentLogger, codec });
    const { items } = await store.list(prefix).finally(() => store.close());
    return items.map(({ key, value }) => `${key}\n${value}\n`).join('');
  };
  const keysOf = async ({ endpoint }: TestEtcd, prefix: string): Promise<readonly string[]> => {
    const codec = { ...plainText, decode: () => '' };
    const store = new EtcdStorage({ endpoints: [endpoint], clock: systemClock, log: silentLogger, codec });
    const { items } = await store.list(prefix).finally(() => store.close());
    return items.map(({ key }) => key);
  };
  const created = ['deployment', 'configmap', 'service', 'secret'] as const;
  const fetched = (kind: string): Promise<string> => cluster.kubectl(['get', kind, 'kept', '-o', 'json']);

  it('stand behind the prefix, in protobuf', async () => {
    await cluster.kubectl(['create', 'deployment', 'kept', '--image=app:1', '--replicas=2']);
    await cluster.kubectl(['create', 'configmap', 'kept', '--from-literal=a=b']);
    await cluster.kubectl(['create', 'service', 'clusterip', 'kept', '--tcp=80']);
    await cluster.kubectl(['create', 'secret', 'generic', 'kept', '--from-literal=a=b']);
    assert.match(await read('/shop/live/configmaps/default/kept'), /^\/shop\/live\/configmaps\/default\/kept\nk8s\0/);
    assert.equal(await read('/registry'), '');
    await cluster.kubectl(['rollout', 'status', 'deployment', 'kept', '--timeout=1s']).catch(() => undefined);
  });

  it('are the same to a server that writes JSON, and to one that writes protobuf again', async () => {
    // The controllers have come to rest when the deployment has been observed.
    await cluster.kubectl([
      'wait',
      '--for=jsonpath={.status.observedGeneration}=1',
      'deployment/kept',
      '--timeout=20s',
    ]);
    const before = await Promise.all(created.map(fetched));
    const other = await startCluster({ etcd, folder: cluster.folder, flags: ['--etcd-prefix=shop/live/'] });
    try {
      const there = await Promise.all(created.map((kind) => other.kubectl(['get', kind, 'kept', '-o', 'json'])));
      assert.deepEqual(there, before);
      await other.kubectl(['patch', 'configmap', 'kept', '--type=merge', '-p', '{"data":{"a":"c"}}']);
      assert.match(await read('/shop/live/configmaps/default/kept'), /\n\{"kind":"ConfigMap"/);
      assert.equal(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.data.a}']), 'c');
    } finally {
      await other.stop();
    }
    await cluster.kill();
    await cluster.start();
    assert.equal(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.data.a}']), 'c');
    assert.equal(await fetched('service'), before[2]);
  });

  it('of two clusters with different prefixes do not meet', async () => {
    const second = await startCluster({ etcd, flags: ['--etcd-prefix=/shop/test'] });
    try {
      assert.equal(await second.kubectl(['get', 'configmap', 'kept', '--ignore-not-found']), '');
      await second.kubectl(['create', 'configmap', 'kept', '--from-literal=a=z']);
      assert.equal(await cluster.kubectl(['get', 'configmap', 'kept', '-o', 'jsonpath={.data.a}']), 'c');
    } finally {
      await second.stop();
    }
  });

  it('are in the etcd that --etcd-servers-overrides gives their resource, and actions reach across', async () => {
    const other = await startEtcd();
    const spread = await startCluster({
      etcd,
      nodes: 1,
      flags: ['--etcd-prefix=/spread', `--etcd-servers-overrides=/events#${other.endpoint},/pods#${other.endpoint}`],
    });
    try {
      await spread.kubectl(['create', 'deployment', 'web', '--image=app:1', '--replicas=2']);
      await spread.kubectl(['create', 'poddisruptionbudget', 'web', '--selector=app=web', '--min-available=1']);
      // The binding of a pod changes what is in the other etcd.
      await spread.kubectl(['rollout', 'status', 'deployment', 'web', '--timeout=60s']);
      const there = await keysOf(other, '/spread/');
      assert.equal(there.filter((key) => key.startsWith('/spread/pods/default/web-')).length, 2);
      assert.ok(there.some((key) => key.startsWith('/spread/events/')));
      assert.deepEqual(
        there.filter((key) => !/^\/spread\/(pods|events)\//.test(key)),
        [],
      );
      const here = await keysOf(etcd, '/spread/');
      assert.ok(here.includes('/spread/deployments/default/web'));
      assert.deepEqual(
        here.filter((key) => /^\/spread\/(pods|events)\//.test(key)),
        [],
      );
      // An eviction is of a pod, and changes a budget in the main etcd.
      await spread.kubectl(['wait', '--for=jsonpath={.status.disruptionsAllowed}=1', 'pdb/web', '--timeout=20s']);
      const names = await spread.kubectl(['get', 'pods', '-o', 'jsonpath={.items[*].metadata.name}']);
      const [first = ''] = names.split(' ');
      const eviction = JSON.stringify({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: first } });
      const path = `/api/v1/namespaces/default/pods/${first}/eviction`;
      await spread.kubectl(['create', '--raw', path, '-f', '-'], eviction);
      await spread.kubectl(['rollout', 'status', 'deployment', 'web', '--timeout=60s']);
      assert.match(await spread.kubectl(['get', '--raw', '/readyz?verbose']), /etcd-override-1 ok/);
      // Both forms of events are of one place.
      assert.notEqual(await spread.kubectl(['get', 'events.events.k8s.io', '-o', 'name']), '');
      await spread.kill();
      await spread.start();
      assert.equal((await spread.kubectl(['get', 'pods', '-o', 'name'])).trim().split('\n').length, 2);
    } finally {
      await spread.stop();
      await other.stop();
    }
  });
});
