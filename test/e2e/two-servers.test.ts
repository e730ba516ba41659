// Two API servers on one etcd: they share all state except memory, and only one of them runs controllers.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { configMaps, endpoints, leases, resourceQuotas, services } from '../../src/api/client/resource-types.ts';
import { isApiError } from '../../src/api/status/api-status-error.ts';
import type { HttpApiClient } from '../../src/client/http-api-client.ts';
import { describeProcess, isAlive, waitUntil } from '../../src/up/processes.ts';
import { startEtcd } from '../integration/support/etcd.ts';
import type { TestEtcd } from '../integration/support/etcd.ts';
import { startCluster, startFakeNodes } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { eventually } from './support/eventually.ts';

const nodePorts = 12;
const advertised = ['192.0.2.1', '192.0.2.2'] as const;

describe('two API servers on one etcd', () => {
  let etcd: TestEtcd;
  let servers: readonly [TestCluster, TestCluster];
  let clients: readonly [HttpApiClient, HttpApiClient];
  let stopNodes: () => Promise<void>;
  before(async () => {
    etcd = await startEtcd();
    const flags = [`--service-node-port-range=30000-${30_000 + nodePorts - 1}`];
    const at = (address: string): string[] => [...flags, `--advertise-address=${address}`];
    const first = await startCluster({ etcd, flags: at(advertised[0]) });
    servers = [first, await startCluster({ etcd, flags: at(advertised[1]), folder: first.folder })];
    clients = [servers[0].client(), servers[1].client()];
    // Through the first, of which no test is without for long.
    stopNodes = await startFakeNodes(first.kubeconfig, 2, first.folder);
  });
  after(async () => {
    await stopNodes();
    await servers[1].stop();
    await servers[0].stop();
    await etcd.stop();
  });

  const other = (index: number): 0 | 1 => (index % 2 === 0 ? 1 : 0);
  const either = (index: number): 0 | 1 => (index % 2 === 0 ? 0 : 1);
  const configMap = (
    namespace: string,
    name: string,
    data: Record<string, string> = {},
  ): { metadata: { namespace: string; name: string; uid: string }; data: Record<string, string> } => ({
    metadata: { namespace, name, uid: '' },
    data,
  });
  const made = async (name: string): Promise<string> => {
    await servers[0].kubectl(['create', 'namespace', name]);
    return name;
  };
  /** The number of successful calls, and the reasons of the failed ones. */
  const outcomes = async (
    calls: readonly Promise<unknown>[],
  ): Promise<{ done: number; reasons: readonly string[] }> => {
    const settled = await Promise.allSettled(calls);
    const reasons = settled.flatMap((each) =>
      each.status === 'rejected' ? [isApiError(each.reason) ? each.reason.reason : String(each.reason)] : [],
    );
    return { done: settled.length - reasons.length, reasons };
  };

  it('each sees writes through the other at once', async () => {
    const namespace = await made('seen');
    for (let index = 0; index < 40; index++) {
      const name = `c${index}`;
      const { metadata } = await clients[either(index)].create(configMaps, configMap(namespace, name));
      const read = await clients[other(index)].get(configMaps, { namespace, name });
      assert.equal(read.metadata.resourceVersion, metadata.resourceVersion);
      const { items } = await clients[other(index)].list(configMaps, namespace);
      assert.ok(
        items.some((item) => item.metadata.name === name),
        `${name} is listed`,
      );
      await clients[other(index)].delete(configMaps, { namespace, name });
      await assert.rejects(clients[either(index)].get(configMaps, { namespace, name }), (error) =>
        isApiError(error, 'NotFound'),
      );
    }
  });

  it('one server can watch from the resourceVersion of a list of the other', async () => {
    const namespace = await made('watched');
    const { resourceVersion } = await clients[0].list(configMaps, namespace);
    await clients[0].create(configMaps, configMap(namespace, 'new'));
    const stop = new AbortController();
    for await (const event of clients[1].watch(configMaps, namespace, { resourceVersion }, stop.signal)) {
      // The root certificate of the namespace may come, too.
      if (event.type === 'ADDED' && event.object.metadata.name === 'new') break;
    }
    stop.abort();
  });

  it('no update is lost, whichever server it goes through', async () => {
    const namespace = await made('counted');
    await clients[0].create(configMaps, configMap(namespace, 'count', { n: '0' }));
    const increment = async (client: HttpApiClient): Promise<void> => {
      for (;;) {
        const current = await client.get(configMaps, { namespace, name: 'count' });
        try {
          await client.update(configMaps, { ...current, data: { n: String(Number(current.data?.['n']) + 1) } });
          return;
        } catch (error) {
          if (!isApiError(error, 'Conflict')) throw error;
        }
      }
    };
    await Promise.all(
      Array.from({ length: 8 }, async (_, index) => {
        for (let round = 0; round < 5; round++) await increment(clients[either(index + round)]);
      }),
    );
    assert.equal((await clients[1].get(configMaps, { namespace, name: 'count' })).data?.['n'], '40');
    const { done, reasons } = await outcomes(
      [0, 1, 2, 3].map((index) => clients[either(index)].create(configMaps, configMap(namespace, 'once'))),
    );
    assert.deepEqual([done, [...new Set(reasons)]], [1, ['AlreadyExists']]);
  });

  it('no address and no port is handed out twice', async () => {
    const namespace = await made('addresses');
    const service = (index: number, type: string): Promise<unknown> =>
      clients[either(index)].create(services, {
        metadata: { namespace, name: `${type.toLowerCase()}-${index}`, uid: '' },
        spec: { type, ports: [{ port: 80 }] },
      } as never);
    assert.deepEqual(await outcomes(Array.from({ length: 60 }, (_, index) => service(index, 'ClusterIP'))), {
      done: 60,
      reasons: [],
    });
    const { done, reasons } = await outcomes(
      Array.from({ length: nodePorts + 10 }, (_, index) => service(index, 'NodePort')),
    );
    assert.deepEqual([done, reasons.length], [nodePorts, 10]);
    const { items } = await clients[0].list(services, '');
    const addresses = items.flatMap(({ spec }) => (spec?.clusterIP === undefined ? [] : [spec.clusterIP]));
    const ports = items.flatMap(
      ({ spec }) => spec?.ports?.flatMap(({ nodePort }) => (nodePort === undefined ? [] : [nodePort])) ?? [],
    );
    assert.deepEqual(
      [new Set(addresses).size, new Set(ports).size, ports.length],
      [items.length, nodePorts, nodePorts],
    );
  });

  it('a quota holds through both at once', async () => {
    const namespace = await made('quota');
    await clients[0].create(resourceQuotas, {
      metadata: { namespace, name: 'few', uid: '' },
      spec: { hard: { 'count/configmaps': '10' } },
    } as never);
    await eventually(async () =>
      assert.equal(
        (
          (await clients[1].get(resourceQuotas, { namespace, name: 'few' })) as {
            status?: { used?: Record<string, string> };
          }
        ).status?.used?.['count/configmaps'],
        '1',
      ),
    );
    const { done, reasons } = await outcomes(
      Array.from({ length: 40 }, (_, index) =>
        clients[either(index)].create(configMaps, configMap(namespace, `c${index}`)),
      ),
    );
    const { items } = await clients[1].list(configMaps, namespace);
    assert.ok(items.length <= 10, `${items.length} are within the quota`);
    assert.deepEqual([done, items.length, [...new Set(reasons)]], [9, 10, ['Forbidden']]);
  });

  it('a watch does not notice that the other server dies and comes back', async () => {
    const namespace = await made('survives');
    const stop = new AbortController();
    const seen: string[] = [];
    const { resourceVersion } = await clients[0].list(configMaps, namespace);
    const watching = (async () => {
      for await (const event of clients[0].watch(configMaps, namespace, { resourceVersion }, stop.signal))
        if (event.type === 'ADDED') seen.push(event.object.metadata.name);
    })();
    await servers[1].kill();
    await clients[0].create(configMaps, configMap(namespace, 'alone'));
    await servers[1].start();
    await clients[1].create(configMaps, configMap(namespace, 'together'));
    await eventually(() =>
      Promise.resolve(
        assert.deepEqual(
          seen.filter((name) => name === 'alone' || name === 'together'),
          ['alone', 'together'],
        ),
      ),
    );
    stop.abort();
    await watching;
  });

  const holder = async (client: HttpApiClient): Promise<string> =>
    (await client.get(leases, { namespace: 'kube-system', name: 'kube-controller-manager' })).spec?.holderIdentity ??
    '';
  const leads = (server: TestCluster): number => server.log().split('"became leader" lease=').length - 1;
  const works = async (name: string, through: TestCluster): Promise<void> => {
    await through.kubectl(['create', 'deployment', name, '--image=x']);
    await through.kubectl(['rollout', 'status', `deployment/${name}`, '--timeout=60s']);
  };

  /** The endpoints of the Service `kubernetes`, by which pods reach the API: the living servers. */
  const endpointsAre = (ips: readonly string[]): Promise<void> =>
    eventually(async () => {
      const client = clients[ips.includes(advertised[0]) ? 0 : 1];
      const { subsets } = await client.get(endpoints, { namespace: 'default', name: 'kubernetes' });
      assert.deepEqual(
        subsets?.[0]?.addresses?.map(({ ip }) => ip),
        ips,
      );
    }, 30_000);

  it('one leads; when it ends in order the other leads at once', async () => {
    assert.deepEqual(servers.map(leads).sort(), [0, 1]);
    const leader = leads(servers[0]) > leads(servers[1]) ? 0 : 1;
    const [before, follower] = [await holder(clients[leader]), servers[other(leader)]];
    const record = describeProcess(servers[leader].pid());
    process.kill(servers[leader].pid(), 'SIGTERM');
    await waitUntil(() => !isAlive(record), 15_000, 10);
    // It checks every two seconds; the lease of a dead server would last fifteen.
    await eventually(() => Promise.resolve(assert.equal(leads(follower), 1)), 5000);
    assert.notEqual(await holder(clients[other(leader)]), before);
    await endpointsAre([advertised[other(leader)]]);
    await servers[leader].start();
    await endpointsAre(advertised);
    await works('after-order', servers[0]);
  });

  it('when it is killed the other takes over once its lease has ended, or itself, back in its place, at once', async () => {
    const [leader] = await leaderAndFollower();
    const [led, identity] = [leads(leader), await holder(clients[0])];
    await leader.kill();
    await leader.start();
    await eventually(() => Promise.resolve(assert.equal(leads(leader), led + 1)), 5000);
    assert.equal(await holder(clients[0]), identity);
    const [killed, follower] = await leaderAndFollower();
    const ledBefore = leads(follower);
    await killed.kill();
    await eventually(() => Promise.resolve(assert.equal(leads(follower), ledBefore + 1)), 30_000);
    await endpointsAre([advertised[servers.indexOf(follower) === 0 ? 0 : 1]]);
    await killed.start();
    await endpointsAre(advertised);
    await works('after-death', follower);
  });

  async function leaderAndFollower(): Promise<readonly [TestCluster, TestCluster]> {
    // The log shows which server acquired the lease last, and the identity shows whose it is.
    const identities = await Promise.all(
      servers.map(
        (server) =>
          server
            .log()
            .match(/"became leader" lease="?kube-controller-manager"? identity="?([^\s"]+)/g)
            ?.at(-1) ?? '',
      ),
    );
    const current = await holder(clients[0]);
    return identities[0]?.includes(current) === true ? [servers[0], servers[1]] : [servers[1], servers[0]];
  }

  it('both live through a restart of etcd', async () => {
    const namespace = await made('restarted');
    await etcd.kill();
    await assert.rejects(clients[0].create(configMaps, configMap(namespace, 'lost')));
    await etcd.start();
    for (const [index, client] of clients.entries()) {
      await eventually(() => client.create(configMaps, configMap(namespace, `from-${index}`)), 30_000);
      assert.equal(
        (await clients[other(index)].get(configMaps, { namespace, name: `from-${index}` })).metadata.name,
        `from-${index}`,
      );
    }
    await works('after-etcd', servers[1]);
  });
});
