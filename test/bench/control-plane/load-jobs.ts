/** The jobs of the client process. */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../../src/base/clock.ts';
import { readKubeconfig } from '../../../src/client/kubeconfig.ts';
import { EtcdClient } from '../../../src/control-plane/storage/etcd/etcd-client.ts';
import {
  Compare_CompareResult,
  Compare_CompareTarget,
} from '../../../src/control-plane/storage/etcd/generated/etcd-v3.ts';
import { pause } from '../../../src/up/processes.ts';
import { spreadOf } from './delays.ts';
import type { Spread, WatchDelays } from './delays.ts';
import { largeDefinition } from './custom-definitions.ts';
import { LoadClient } from './load-client.ts';
import { numberedConfigMap, numberedPod, numberedSample } from './objects.ts';
import { WatcherCrowd } from './watcher-crowd.ts';

export interface Rates extends Spread {
  readonly perSecond: number;
  readonly done: number;
}

interface Access {
  readonly kubeconfig: string;
}

/** It ends after `seconds` or `count`. */
interface Effort {
  readonly clients: number;
  readonly seconds?: number;
  readonly count?: number;
  /** The time from one request of a client to its next; absent: no pause. */
  readonly everyMs?: number;
}

interface Creates extends Access, Effort {
  readonly kind: 'configmaps' | 'pods' | 'samples';
  /** The prefix of names. */
  readonly prefix: string;
  /** The scheduler of the pods; absent: a scheduler that does not exist. */
  readonly schedulerName?: string;
}

interface PacedWrites extends Access {
  readonly namespace: string;
  readonly perSecond: number;
  readonly count: number;
  /** Absent: ConfigMaps. */
  readonly kind?: 'configmaps' | 'samples';
}

export const pathOf = (kind: Creates['kind'], namespace: string): string =>
  `${kind === 'samples' ? '/apis/bench.example.com/v1' : '/api/v1'}/namespaces/${namespace}/${kind}`;

/** CLOCK_MONOTONIC, which is the same in all processes. */
const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;

/** The number of objects that `kubectl get` requests at a time. */
const KUBECTL_PAGE = 500;
/** The metadata of a Table comes before its columns and rows. */
const HEAD_LENGTH = 2000;

/** Watches that stay open until this process ends. */
let crowd: WatcherCrowd | undefined;

async function untilServed(kubeconfig: string, count: number): Promise<void> {
  const client = new LoadClient(readKubeconfig(kubeconfig));
  const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
  let served = 0;
  while (served < count) {
    const read = (text: string): void => void (served = text.split('"resource":"widget').length - 1);
    await client.send({ method: 'GET', path: '/apis', accept, read });
    if (served < count) await pause(20);
  }
  client.close();
}

export const jobs = {
  /**
   * Creates this number of large definitions, and resolves when all of their kinds are served. Returns milliseconds.
   */
  createDefinitions: async ({ kubeconfig, count }: Access & { readonly count: number }): Promise<number> => {
    const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
    const startMs = nowMs();
    await withClients(kubeconfig, { clients: 8, count }, (client, number) =>
      client.send({ method: 'POST', path, body: largeDefinition(number) }),
    );
    await untilServed(kubeconfig, count);
    return nowMs() - startMs;
  },
  /** Resolves when this number of large definitions is served. */
  awaitDefinitions: ({ kubeconfig, count }: Access & { readonly count: number }): Promise<void> =>
    untilServed(kubeconfig, count),
  creates: ({ kubeconfig, kind, prefix, schedulerName = 'nobody', ...effort }: Creates): Promise<Rates> =>
    withClients(kubeconfig, effort, (client, number) => {
      const name = `${prefix}-${number}`;
      return client.send({
        method: 'POST',
        path: pathOf(kind, 'default'),
        body:
          kind === 'pods'
            ? numberedPod(name, { schedulerName, number })
            : kind === 'samples'
              ? numberedSample(name)
              : numberedConfigMap(name),
      });
    }),
  gets: ({ kubeconfig, path, ...effort }: Access & Effort & { readonly path: string }): Promise<Rates> =>
    withClients(kubeconfig, effort, (client) => client.send({ method: 'GET', path })),
  /** The times of sequential reads over an open connection, and the size of one response. */
  lists: async ({
    kubeconfig,
    path,
    accept,
    count,
  }: Access & { readonly path: string; readonly accept: string; readonly count: number }): Promise<{
    readonly ms: number[];
    readonly bytes: number;
  }> => {
    const client = new LoadClient(readKubeconfig(kubeconfig));
    await client.send({ method: 'GET', path: '/version' });
    const ms: number[] = [];
    let bytes = 0;
    for (let i = 0; i < count; i++) {
      const startMs = nowMs();
      bytes = await client.send({ method: 'GET', path, accept });
      ms.push(nowMs() - startMs);
    }
    client.close();
    return { ms, bytes };
  },
  /** One list as `kubectl get` requests it: a Table, compressed, in pages. Returns milliseconds. */
  tableList: async ({ kubeconfig, path }: Access & { readonly path: string }): Promise<number> => {
    const client = new LoadClient(readKubeconfig(kubeconfig));
    await client.send({ method: 'GET', path: '/version' });
    const startMs = nowMs();
    let next = '';
    do {
      await client.send({
        method: 'GET',
        path: `${path}?limit=${KUBECTL_PAGE}${next === '' ? '' : `&continue=${encodeURIComponent(next)}`}`,
        accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json',
        read: (text) => {
          next = /"continue":"([^"]+)"/.exec(text.slice(0, HEAD_LENGTH))?.[1] ?? '';
        },
      });
    } while (next !== '');
    const tookMs = nowMs() - startMs;
    client.close();
    return tookMs;
  },
  /** Writes at a constant rate without waiting for earlier responses. Returns the time of each response. */
  pacedWrites: async ({
    kubeconfig,
    namespace,
    perSecond,
    count,
    kind = 'configmaps',
  }: PacedWrites): Promise<number[]> => {
    const access = readKubeconfig(kubeconfig);
    const clients = Array.from({ length: 4 }, () => new LoadClient(access));
    const answeredAtMs: number[] = [];
    const running: Promise<void>[] = [];
    const startMs = nowMs();
    for (let i = 0; i < count; i++) {
      const waitMs = startMs + (i * 1000) / perSecond - nowMs();
      if (waitMs > 0) await pause(waitMs);
      const write = clients[i % clients.length]?.send({
        method: 'POST',
        path: pathOf(kind, namespace),
        body: (kind === 'samples' ? numberedSample : numberedConfigMap)(`w-${i}`, namespace),
      });
      running.push(Promise.resolve(write).then(() => void (answeredAtMs[i] = nowMs())));
    }
    await Promise.all(running);
    for (const client of clients) client.close();
    return answeredAtMs;
  },
  openWatches: async ({
    kubeconfig,
    path,
    count,
  }: Access & { readonly path: string; readonly count: number }): Promise<void> => {
    crowd = await WatcherCrowd.open(readKubeconfig(kubeconfig), path, count, nowMs);
  },
  judgeWatches: async ({
    answeredAtMs,
    limitMs,
  }: {
    readonly answeredAtMs: readonly number[];
    readonly limitMs: number;
  }): Promise<WatchDelays & { readonly ended: number }> => {
    if (crowd === undefined) throw new Error('no watch is open');
    await crowd.until(answeredAtMs.length, limitMs);
    return crowd.delays(answeredAtMs);
  },
  /** The same writes directly to etcd: transactions that require that the key does not exist. */
  etcdPuts: async ({
    endpoint,
    value,
    ...effort
  }: Effort & { readonly endpoint: string; readonly value: string }): Promise<Rates> => {
    const startedMs = nowMs();
    const members = Array.from(
      { length: effort.clients },
      () => new EtcdClient({ endpoints: [endpoint], clock: systemClock }),
    );
    const rates = await repeat(members, effort, (member, number) => {
      const key = `/floor/${startedMs}-${number}`;
      return member.kv.txn({
        compare: [{ result: Compare_CompareResult.EQUAL, target: Compare_CompareTarget.MOD, key, modRevision: 0 }],
        success: [{ requestPut: { key, value: Buffer.from(value) } }],
        failure: [],
      });
    });
    for (const member of members) member.close();
    return rates;
  },
  /**
   * The least that a get must request when others may have written: a read of one key that is not older than any
   * acknowledged write.
   */
  etcdGets: async ({ endpoint, ...effort }: Effort & { readonly endpoint: string }): Promise<Rates> => {
    const member = new EtcdClient({ endpoints: [endpoint], clock: systemClock });
    const rates = await repeat([member], effort, () => member.kv.range({ key: '/floor/0' }));
    member.close();
    return rates;
  },
  /**
   * The same puts into a plain table. Each transaction has as many puts as there are clients, and is durable before the
   * next one (synchronous=FULL).
   */
  sqlitePuts: async ({
    folder,
    value,
    clients,
    seconds,
  }: {
    readonly folder: string;
    readonly value: string;
    readonly clients: number;
    readonly seconds: number;
  }): Promise<Rates> => {
    const database = new DatabaseSync(join(folder, 'floor.db'));
    database.exec(
      'PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; CREATE TABLE IF NOT EXISTS floor (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID',
    );
    const insert = database.prepare('INSERT INTO floor VALUES (?, ?)');
    const times: number[] = [];
    const startMs = nowMs();
    let done = 0;
    while (nowMs() < startMs + seconds * 1000) {
      const beginMs = nowMs();
      database.exec('BEGIN');
      for (let i = 0; i < clients; i++) insert.run(`/floor/${startMs}-${done++}`, value);
      database.exec('COMMIT');
      times.push(nowMs() - beginMs);
    }
    database.close();
    return { perSecond: (done * 1000) / (nowMs() - startMs), done, ...spreadOf(times) };
  },
};

export type JobName = keyof typeof jobs;
export type JobArguments<Name extends JobName> = Parameters<(typeof jobs)[Name]>[0];
export type JobResult<Name extends JobName> = Awaited<ReturnType<(typeof jobs)[Name]>>;

async function withClients(
  kubeconfig: string,
  effort: Effort,
  request: (client: LoadClient, number: number) => Promise<unknown>,
): Promise<Rates> {
  const access = readKubeconfig(kubeconfig);
  const clients = Array.from({ length: effort.clients }, () => new LoadClient(access));
  // Connections are made before the time begins.
  await Promise.all(clients.map((client) => client.send({ method: 'GET', path: '/version' })));
  try {
    return await repeat(clients, effort, request);
  } finally {
    for (const client of clients) client.close();
  }
}

/** Each client sends one request after the other. */
async function repeat<Client>(
  clients: readonly Client[],
  { seconds = Infinity, count = Infinity, everyMs = 0 }: Effort,
  request: (client: Client, number: number) => Promise<unknown>,
): Promise<Rates> {
  const times: number[] = [];
  const startMs = nowMs();
  const endMs = startMs + seconds * 1000;
  let next = 0;
  await Promise.all(
    clients.map(async (client) => {
      while (nowMs() < endMs && next < count) {
        const beginMs = nowMs();
        await request(client, next++);
        const tookMs = nowMs() - beginMs;
        times.push(tookMs);
        if (everyMs > tookMs) await pause(everyMs - tookMs);
      }
    }),
  );
  const tookSeconds = (nowMs() - startMs) / 1000;
  return { perSecond: times.length / tookSeconds, done: times.length, ...spreadOf(times) };
}
