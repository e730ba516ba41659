// Three API servers behind one address, on an etcd with three members. Clients write, read and watch during a rolling
// update while servers and members are killed, paused and disconnected. Their history is checked at the end.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { configMaps, deployments, leases, replicaSets } from '../../src/api/client/resource-types.ts';
import { isApiError } from '../../src/api/status/api-status-error.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { HttpApiClient } from '../../src/client/http-api-client.ts';
import { HttpTransport } from '../../src/client/http-transport.ts';
import { readKubeconfig } from '../../src/client/kubeconfig.ts';
import type { ReplicaSet } from '../../src/api/apps/replica-set.ts';
import type { Pod } from '../../src/api/core/pod.ts';
import type { StorageEvent } from '../../src/control-plane/storage/storage.ts';
import { EtcdStorage } from '../../src/control-plane/storage/etcd/etcd-storage.ts';
import { pause } from '../../src/up/processes.ts';
import type { EtcdCluster } from '../integration/support/etcd-cluster.ts';
import { startEtcdCluster } from '../integration/support/etcd-cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { startCluster, startFakeNodes } from './support/cluster.ts';
import type { CutNetwork } from './support/cut-network.ts';
import { startCutNetwork } from './support/cut-network.ts';
import { eventually } from './support/eventually.ts';
import type { Change, Read, WatchPart, Write } from './support/history.ts';
import { findFaults } from './support/history.ts';
import type { OneAddress } from './support/one-address.ts';
import { startOneAddress } from './support/one-address.ts';
import { findSurplus } from './support/replica-history.ts';
import type { StoredChange } from './support/replica-history.ts';

describe('the check of a history', () => {
  const truth: readonly Change[] = [
    { key: 'k', value: 'a', revision: 1 },
    { key: 'k', value: 'b', revision: 2 },
  ];
  const writes: readonly Write[] = [
    { key: 'k', value: 'a', invokedMs: 0, doneMs: 1, revision: 1 },
    { key: 'k', value: 'b', invokedMs: 2, doneMs: 3, revision: 2 },
  ];
  const fine = { writes, truth, reads: [], watches: [{ after: 0, until: 2, seen: truth }] };
  const read = (value: string, revision: number, invokedMs: number): Read => ({
    ...{ key: 'k', value, revision, invokedMs, doneMs: invokedMs + 0.1 },
  });

  it('finds a lost write, a stale read, a read of the future and a gap', () => {
    assert.deepEqual(findFaults({ ...fine, reads: [read('a', 1, 2.5), read('b', 2, 3.5)] }), []);
    for (const wrong of [
      { ...fine, truth: truth.slice(0, 1), watches: [] },
      { ...fine, reads: [read('a', 1, 3.5)] },
      { ...fine, reads: [read('b', 2, 2.5), read('a', 1, 2.7)] },
      { ...fine, reads: [read('b', 2, 1)] },
      { ...fine, watches: [{ after: 0, until: 2, seen: truth.slice(1) }] },
      { ...fine, watches: [{ after: 0, until: 2, seen: truth.slice(0, 1) }] },
      { ...fine, watches: [{ after: 0, until: 2, seen: truth.toReversed() }] },
      { ...fine, truth: [...truth, { key: 'k', value: 'a', revision: 3 }], watches: [] },
    ])
      assert.equal(findFaults(wrong).length, 1, JSON.stringify(wrong));
  });
});

describe('the check of what controllers did', () => {
  const metadata = { name: 'app-1', namespace: 'default', uid: 'u' };
  const selector = { matchLabels: { app: 'app' } };
  const set = (replicas: number, revision: number): StoredChange => ({
    ...{ key: 'set', revision },
    set: { metadata, spec: { replicas, selector, template: { metadata: {}, spec: { containers: [] } } } },
  });
  const ownerReferences = [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'app-1', uid: 'u' }];
  const pod = (name: string, revision: number, leaves = false): StoredChange => ({
    ...{ key: name, revision },
    pod: {
      metadata: { ...metadata, name, ownerReferences, ...(leaves && { deletionTimestamp: 'now' }) },
      spec: { containers: [] },
    },
  });
  const fine = [set(1, 1), pod('a', 2), set(2, 3), pod('b', 4), pod('a', 5, true), pod('c', 6), set(1, 7)];

  it('finds a pod that was created twice, and sets that ask for too much', () => {
    assert.deepEqual(findSurplus(fine, 2), []);
    for (const wrong of [
      [...fine, pod('d', 8)],
      [...fine, pod('c', 8, true), pod('d', 9), pod('e', 10)],
      [...fine, set(3, 8)],
    ])
      assert.equal(findSurplus(wrong, 2).length, 1, JSON.stringify(wrong));
  });
});

const NAMESPACE = 'history';
const KEYS = ['k0', 'k1', 'k2'];

describe('three API servers on three members of etcd', () => {
  let etcd: EtcdCluster;
  let servers: readonly TestCluster[] = [];
  /** The network between each server and the members of etcd. */
  let networks: readonly CutNetwork[] = [];
  let address: OneAddress;
  let stopNodes: () => Promise<void> = () => Promise.resolve();
  const transports: HttpTransport[] = [];
  const client = (): HttpApiClient => {
    const { kubeconfig } = servers[0] ?? assert.fail();
    const access = { ...readKubeconfig(kubeconfig), server: `https://127.0.0.1:${address.port}` };
    const transport = new HttpTransport(access, { userAgent: 'history' });
    transports.push(transport);
    return new HttpApiClient(transport);
  };
  const writes: Write[] = [];
  const reads: Read[] = [];
  const watches: WatchPart[] = [];
  const truth: Change[] = [];
  /** All writes of pods and ReplicaSets. */
  const acts: StoredChange[] = [];
  /** The durations in which no request of a writer succeeded. */
  const outagesMs: number[] = [];

  before(async () => {
    etcd = await startEtcdCluster();
    const urls = etcd.members.map(({ endpoint }) => endpoint);
    networks = await Promise.all([0, 1, 2].map(() => startCutNetwork(urls)));
    for (const network of networks) {
      const folder = servers[0]?.folder;
      servers = [...servers, await startCluster({ etcd: network, ...(folder !== undefined && { folder }) })];
    }
    const [first = assert.fail()] = servers;
    address = await startOneAddress(servers.map(({ port }) => port));
    stopNodes = await startFakeNodes(first.kubeconfig, 2, first.folder);
    await first.kubectl(['create', 'namespace', NAMESPACE]);
    for (const name of KEYS)
      await first.client().create(configMaps, { metadata: { namespace: NAMESPACE, name, uid: '' }, data: { v: '' } });
  });
  after(async () => {
    // An open store would keep the process of this file from its end when the test has failed.
    await closeStore();
    await stopNodes();
    for (const transport of transports) transport.close();
    address.close();
    for (const network of networks) network.heal();
    for (const server of servers.toReversed()) await server.stop();
    for (const network of networks) network.close();
    await etcd.stop();
  });

  async function write(name: string, signal: AbortSignal): Promise<void> {
    const api = client();
    let lastDoneMs = performance.now();
    for (let count = 0; !signal.aborted; count += 1) {
      const key = KEYS[count % KEYS.length] ?? '';
      const value = `${name}-${count}`;
      try {
        const before = await api.get(configMaps, { namespace: NAMESPACE, name: key });
        const invokedMs = performance.now();
        const at = writes.push({ key, value, invokedMs }) - 1;
        const { metadata } = await api.update(configMaps, { ...before, data: { v: value } });
        writes[at] = { key, value, invokedMs, doneMs: performance.now(), revision: Number(metadata.resourceVersion) };
        outagesMs.push(performance.now() - lastDoneMs);
        lastDoneMs = performance.now();
      } catch (error) {
        // Another writer was first, or the outcome is unknown: the write may be stored or not.
        if (isApiError(error, 'Conflict')) lastDoneMs = performance.now();
      }
      await pause(30);
    }
  }

  async function read(signal: AbortSignal): Promise<void> {
    const api = client();
    for (let count = 0; !signal.aborted; count += 1) {
      const key = KEYS[count % KEYS.length] ?? '';
      const invokedMs = performance.now();
      try {
        const { metadata, data } = await api.get(configMaps, { namespace: NAMESPACE, name: key });
        const [value, revision] = [data?.['v'] ?? '', Number(metadata.resourceVersion)];
        reads.push({ key, value, revision, invokedMs, doneMs: performance.now() });
      } catch (error) {
        // A read without an answer says nothing.
        assert.ok(error instanceof Error);
      }
      await pause(20);
    }
  }

  async function watch(signal: AbortSignal): Promise<void> {
    const api = client();
    let after: string | undefined;
    while (!signal.aborted) {
      try {
        after ??= (await api.list(configMaps, NAMESPACE)).resourceVersion ?? '';
        const seen: Change[] = [];
        const part: WatchPart = { after: Number(after), until: Number(after), seen };
        watches.push(part);
        for await (const event of api.watch(configMaps, NAMESPACE, { resourceVersion: after }, signal)) {
          if (event.type === 'ERROR') throw event.error;
          if (event.type === 'BOOKMARK') {
            after = event.resourceVersion;
            part.until = Number(after);
            continue;
          }
          const { metadata, data } = event.object;
          after = metadata.resourceVersion ?? after;
          part.until = Number(after);
          if (event.type === 'MODIFIED')
            seen.push({ key: metadata.name, value: data?.['v'] ?? '', revision: Number(after) });
        }
      } catch (error) {
        // A server that has just started does not have the history: the watcher lists again.
        if (isApiError(error, 'Expired', 'Gone')) after = undefined;
        await pause(20);
      }
    }
  }

  let closeStore: () => Promise<void> = () => Promise.resolve();

  /** Watches etcd directly, with which the servers must agree. */
  async function followStore(): Promise<() => Promise<void>> {
    const store = new EtcdStorage({ endpoints: etcd.endpoint.split(','), clock: systemClock, log: silentLogger });
    closeStore = async () => {
      watching.close();
      await store.close();
    };
    const prefix = `/registry/configmaps/${NAMESPACE}/k`;
    const { revision } = await store.list(prefix);
    for (const kind of ['pod', 'replicaset'] as const) followActs(store, kind, revision);
    let last = revision;
    const seen = Promise.withResolvers<undefined>();
    let wanted = Infinity;
    const open = (): { close(): void } =>
      store.watch(
        prefix,
        last,
        (events, reached) => {
          for (const each of events) {
            const { data } = JSON.parse(each.value) as { data?: Record<string, string> };
            truth.push({ key: each.key.slice(prefix.length - 1), value: data?.['v'] ?? '', revision: each.revision });
          }
          last = Math.max(last, reached, ...events.map((each) => each.revision));
          if (last >= wanted) seen.resolve(undefined);
        },
        () => void (watching = open()),
      );
    let watching = open();
    return async () => {
      wanted = await store.revision();
      const key = { namespace: NAMESPACE, name: KEYS[0] ?? '' };
      const api = client();
      // The address may still have connections to a server that was paused.
      await eventually(async () => {
        await api.update(configMaps, { ...(await api.get(configMaps, key)), data: { v: 'last' } });
      }, 20_000);
      await seen.promise;
    };
  }

  function followActs(store: EtcdStorage, kind: 'pod' | 'replicaset', after: number): void {
    const listener = (events: readonly StorageEvent[]): void => {
      for (const { key, value, revision } of events) {
        const object: unknown = value === '' ? undefined : JSON.parse(value);
        acts.push({
          ...{ key, revision },
          ...(object !== undefined && (kind === 'pod' ? { pod: object as Pod } : { set: object as ReplicaSet })),
        });
      }
    };
    store.watch(`/registry/${kind}s/default/`, after, listener, ({ kind: why }) => assert.fail(why));
  }

  /** The server whose controllers are active. Unknown while a server or a member of etcd recovers. */
  const leader = async (): Promise<TestCluster> => {
    const lease = await client().get(leases, { namespace: 'kube-system', name: 'kube-controller-manager' });
    const holder = lease.spec?.holderIdentity ?? '';
    const hasLed = (server: TestCluster): boolean =>
      (server.log().match(/"became leader" lease="?kube-controller-manager"? identity="?[^\s"]+/g) ?? []).some((line) =>
        line.endsWith(holder),
      );
    return servers.find(hasLed) ?? assert.fail(`no server is ${holder}`);
  };
  const signal = (server: TestCluster, which: 'SIGSTOP' | 'SIGCONT'): void => void process.kill(server.pid(), which);

  const faults: Readonly<Record<string, () => Promise<void>>> = {
    'the server that leads is killed and comes back': async () => {
      const server = await eventually(leader);
      await server.kill();
      await pause(1500);
      await server.start();
    },
    'a server is paused for longer than its address trusts it': async () => {
      const [server = assert.fail()] = servers;
      signal(server, 'SIGSTOP');
      await pause(3000);
      signal(server, 'SIGCONT');
    },
    'each member of etcd is killed in turn': async () => {
      for (const member of etcd.members) {
        await member.kill();
        await pause(1000);
        member.start();
        await pause(1500);
      }
    },
    'a member of etcd is paused': async () => {
      const [, member] = etcd.members;
      member?.freeze();
      await pause(2500);
      member?.thaw();
    },
    'the server that leads is paused until another one leads': async () => {
      const server = await eventually(leader);
      signal(server, 'SIGSTOP');
      try {
        await eventually(async () => assert.notEqual((await leader()).port, server.port), 40_000);
      } finally {
        signal(server, 'SIGCONT');
      }
    },
    'a server is cut off from a member of etcd': async () => {
      const [, network] = networks;
      network?.cut([0]);
      await pause(3000);
      network?.heal();
    },
    'the server that leads is cut off from etcd until another one leads': async () => {
      const server = await eventually(leader);
      const network = networks[servers.indexOf(server)];
      network?.cut();
      try {
        await eventually(async () => assert.notEqual((await leader()).port, server.port), 40_000);
      } finally {
        network?.heal();
      }
    },
  };

  it('no acknowledged write is lost, reads and watches are linearizable, and an update of a Deployment is made once', async (context) => {
    const [first = assert.fail()] = servers;
    const stop = new AbortController();
    const finishStore = await followStore();
    const working = [write('a', stop.signal), write('b', stop.signal), read(stop.signal), watch(stop.signal)];
    await first.kubectl(['create', 'deployment', 'app', '--image=app:1', '--replicas=4']);
    let version = 1;
    try {
      for (const [name, fault] of Object.entries(faults)) {
        const sinceMs = outagesMs.length;
        version += 1;
        await eventually(async () => {
          await client().patch(
            deployments,
            { namespace: 'default', name: 'app' },
            { type: 'merge', body: { spec: { template: { metadata: { annotations: { version: `${version}` } } } } } },
          );
        }, 20_000);
        await fault();
        await pause(500);
        context.diagnostic(`${name}: no write for ${Math.round(Math.max(0, ...outagesMs.slice(sinceMs)))} ms at most`);
      }
    } finally {
      stop.abort();
      await Promise.all(working);
    }
    await finishStore();
    const faultsFound = findFaults({
      writes: [
        ...writes,
        ...truth.filter(({ value }) => value === 'last').map(({ key, value }) => ({ key, value, invokedMs: 0 })),
      ],
      reads,
      truth,
      watches,
    });
    context.diagnostic(
      `${writes.length} writes, ${reads.length} reads, ${watches.length} parts of watches, ${truth.length} changes`,
    );
    assert.deepEqual(faultsFound, []);
    assert.ok(truth.length > 50 && reads.length > 50 && watches.some(({ seen }) => seen.length > 0));
    // Two that acted at once would make a second ReplicaSet of one template, or pods that no set has asked for.
    await eventually(async () => {
      const { items } = await client().list(replicaSets, 'default');
      const templates = items.map(({ spec }) => spec?.template?.metadata?.annotations?.['version'] ?? '');
      assert.equal(new Set(templates).size, items.length, `one for each template, not ${templates.join()}`);
      assert.equal(items.filter(({ status }) => (status?.replicas ?? 0) > 0).length, 1);
    }, 60_000);
    const inOrder = acts.toSorted((one, other) => one.revision - other.revision);
    assert.deepEqual(findSurplus(inOrder, 5), []);
    assert.ok(inOrder.filter(({ pod }) => pod !== undefined).length > 20);
  });
});
