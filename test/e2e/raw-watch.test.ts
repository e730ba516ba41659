// Lists and watches as the API's documents describe them, requested with kubectl's --raw and plain HTTP.

import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { startEtcd } from '../integration/support/etcd.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { configMap, makeMaps, ownNames, said } from './support/raw-maps.ts';
import { rawHttp, watchEvents } from './support/raw-http.ts';
import type { Raw, RawJson, RawReply, WatchEvent } from './support/raw-http.ts';

let cluster: TestCluster;
let raw: Raw;
before(async () => {
  cluster = await startCluster();
  raw = rawHttp(cluster);
});
after(() => cluster.stop());

const newMaps = (namespace: string): Promise<string> => makeMaps(cluster, raw, namespace);
const make = async (maps: string, name: string, rest?: object): Promise<RawJson> =>
  (await raw('POST', maps, { body: configMap(name, rest) })).json();
const list = async (path: string): Promise<RawJson> =>
  JSON.parse(await cluster.kubectl(['get', '--raw', path])) as RawJson;
const typesAndNames = (events: readonly WatchEvent[]): readonly string[] =>
  events.map(({ type, object }) => `${type} ${object.metadata.name ?? ''}`.trim());

describe('lists', { concurrency: 4 }, () => {
  it('of 600 objects come in pages of one version', async () => {
    const maps = await newMaps('many');
    for (let start = 0; start < 600; start += 50)
      await Promise.all(
        Array.from({ length: 50 }, (_, at) => make(maps, `map-${String(start + at).padStart(3, '0')}`)),
      );
    const first = await list(`${maps}?limit=250`);
    assert.deepEqual([first.items.length, first.metadata.remainingItemCount], [250, 351]);
    await make(maps, 'map-300-late');
    await raw('DELETE', `${maps}/map-400`);
    const second = await list(`${maps}?limit=250&continue=${first.metadata.continue}`);
    const third = await list(`${maps}?limit=250&continue=${second.metadata.continue}`);
    assert.deepEqual(
      [
        second.items.length,
        second.metadata.remainingItemCount,
        third.items.length,
        third.metadata.remainingItemCount,
        third.metadata.continue,
      ],
      [250, 101, 101, undefined, undefined],
    );
    assert.deepEqual(
      [second.metadata.resourceVersion, third.metadata.resourceVersion],
      [first.metadata.resourceVersion, first.metadata.resourceVersion],
    );
    const names = [first, second, third].flatMap(ownNames);
    assert.deepEqual(
      names,
      Array.from({ length: 600 }, (_, at) => `map-${String(at).padStart(3, '0')}`),
    );
    const chunked = await cluster.kubectl(['get', 'configmaps', '--namespace=many', '--chunk-size=100', '-o', 'name']);
    assert.equal(chunked.trim().split('\n').length, 601);
    const selected = await list(`${maps}?limit=2&labelSelector=none`);
    assert.deepEqual(
      [selected.items, selected.metadata.remainingItemCount, selected.metadata.continue],
      [[], undefined, undefined],
    );
    const tokens = ['nonsense', Buffer.from('{"v":"meta.k8s.io/v1","rv":0,"start":"a\\u0000"}').toString('base64url')];
    for (const token of tokens)
      assert.deepEqual(said(await raw('GET', `${maps}?limit=1&continue=${token}`)).slice(0, 2), [400, 'BadRequest']);
    assert.deepEqual(said(await raw('GET', `${maps}?limit=1&continue=${first.metadata.continue}&resourceVersion=5`)), [
      400,
      'BadRequest',
      'specifying resource version is not allowed when using continue',
    ]);
    assert.equal((await raw('DELETE', maps)).json().kind, 'ConfigMapList');
    assert.deepEqual(ownNames(await list(maps)), []);
  });

  it('are of the requested version', async () => {
    const maps = await newMaps('versions');
    const old = (await make(maps, 'a')).metadata.resourceVersion;
    await make(maps, 'b');
    const at = async (query: string): Promise<readonly string[]> => ownNames(await list(`${maps}?${query}`));
    assert.deepEqual(await at(`resourceVersion=${old}&resourceVersionMatch=Exact`), ['a']);
    assert.deepEqual(await at(`resourceVersion=${old}&resourceVersionMatch=NotOlderThan`), ['a', 'b']);
    assert.deepEqual(await at(`resourceVersion=${old}`), ['a', 'b']);
    assert.deepEqual(await at(`resourceVersion=${old}&limit=5`), ['a']);
    assert.deepEqual(await at('resourceVersion=0'), ['a', 'b']);
    assert.equal(
      (await list(`${maps}?resourceVersion=${old}&resourceVersionMatch=Exact`)).metadata.resourceVersion,
      old,
    );
    const refusals: readonly (readonly [string, number, string, RegExp])[] = [
      [
        'resourceVersionMatch=Exact',
        422,
        'Invalid',
        /resourceVersionMatch is forbidden unless resourceVersion is provided/,
      ],
      [
        'resourceVersion=0&resourceVersionMatch=Exact',
        422,
        'Invalid',
        /resourceVersionMatch "exact" is forbidden for resourceVersion "0"/,
      ],
      ['resourceVersion=1&resourceVersionMatch=About', 422, 'Invalid', /Unsupported value: "About"/],
      ['resourceVersion=yesterday', 400, 'BadRequest', /yesterday/],
      ['sendInitialEvents=true', 422, 'Invalid', /sendInitialEvents is forbidden for list/],
      ['labelSelector=a%20b', 400, 'BadRequest', /unable to parse requirement/],
      [
        'fieldSelector=spec.color%3Dred',
        400,
        'BadRequest',
        /"spec\.color" is not a known field selector: only "metadata\.name", "metadata\.namespace"/,
      ],
      ['limit=many', 400, 'BadRequest', /many/],
    ];
    for (const [query, status, reason, message] of refusals) {
      const reply = await raw('GET', `${maps}?${query}`);
      assert.deepEqual(said(reply).slice(0, 2), [status, reason], query);
      assert.match(reply.json().message, message);
    }
    const future = await raw('GET', `${maps}?resourceVersion=999999999`);
    assert.deepEqual(
      [future.status, future.json().reason, future.json().details.causes?.[0]?.reason],
      [504, 'Timeout', 'ResourceVersionTooLarge'],
    );
  });
});

describe('watches', { concurrency: 4 }, () => {
  it('replay from an old version, with every change in order', async () => {
    const maps = await newMaps('replay');
    const { resourceVersion } = (await make(maps, 'zero')).metadata;
    await make(maps, 'a', { data: { n: '1' } });
    await raw('PATCH', `${maps}/a`, {
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { data: { n: '2' } },
    });
    await raw('DELETE', `${maps}/a`);
    const events = await watchEvents(
      cluster,
      `${maps}?watch=true&resourceVersion=${resourceVersion}`,
      ({ length }) => length === 3,
    );
    assert.deepEqual(
      events.map(({ type, object }) => [type, object.metadata.name, object.data['n']]),
      [
        ['ADDED', 'a', '1'],
        ['MODIFIED', 'a', '2'],
        ['DELETED', 'a', '2'],
      ],
    );
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    assert.ok(
      versions.every((version, at) => version > (versions[at - 1] ?? Number(resourceVersion))),
      String(versions),
    );
  });

  it('begin with the existing objects on request, and mark their end', async () => {
    const maps = await newMaps('initial');
    await make(maps, 'a');
    await make(maps, 'b');
    const path = `${maps}?watch=1&fieldSelector=metadata.name!%3Dkube-root-ca.crt`;
    assert.deepEqual(typesAndNames(await watchEvents(cluster, path, ({ length }) => length === 2)), [
      'ADDED a',
      'ADDED b',
    ]);
    const events = await watchEvents(
      cluster,
      `${path}&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true`,
      ({ length }) => length === 3,
    );
    assert.deepEqual(typesAndNames(events), ['ADDED a', 'ADDED b', 'BOOKMARK']);
    const bookmark = events[2]?.object;
    assert.deepEqual(
      [bookmark?.kind, bookmark?.metadata.annotations],
      ['ConfigMap', { 'k8s.io/initial-events-end': 'true' }],
    );
    assert.ok(Number(bookmark?.metadata.resourceVersion) > 0);
    const tables = await rawHttp(cluster)('GET', `${path}&timeoutSeconds=1`, {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    const shown = tables.text
      .trim()
      .split('\n')
      .map((line) => (JSON.parse(line) as { object: RawJson }).object);
    assert.deepEqual(
      shown.map(({ kind, rows, columnDefinitions }) => [kind, rows[0]?.cells[0], columnDefinitions === null]),
      [
        ['Table', 'a', false],
        ['Table', 'b', true],
      ],
    );
    const refused = await raw('GET', `${path}&sendInitialEvents=true`);
    assert.deepEqual([refused.status, refused.json().reason], [422, 'Invalid']);
  });

  it('see objects come into and go out of a selection, and end when asked', async () => {
    const maps = await newMaps('selected');
    const { resourceVersion } = (await make(maps, 'a')).metadata;
    const label = (value: string | null): Promise<RawReply> =>
      raw('PATCH', `${maps}/a`, {
        headers: { 'content-type': 'application/merge-patch+json' },
        body: { metadata: { labels: { in: value } } },
      });
    for (const value of ['yes', 'no', 'yes', null]) await label(value);
    const events = await watchEvents(
      cluster,
      `${maps}?watch=1&resourceVersion=${resourceVersion}&labelSelector=in%3Dyes&timeoutSeconds=1`,
      () => false,
    );
    assert.deepEqual(typesAndNames(events), ['ADDED a', 'DELETED a', 'ADDED a', 'DELETED a']);
    assert.deepEqual(
      events.map(({ object }) => object.metadata.labels?.['in']),
      ['yes', 'yes', 'yes', 'yes'],
    );
  });
});

it('a compacted revision is reported as gone, for lists and for watches of a server that started later', async () => {
  const etcd = await startEtcd();
  const elsewhere = await startCluster({ etcd });
  try {
    const ask = rawHttp(elsewhere);
    const maps = '/api/v1/namespaces/default/configmaps';
    const create = async (name: string): Promise<string> =>
      (await ask('POST', maps, { body: configMap(name) })).json().metadata.resourceVersion;
    const old = await create('a');
    // Two objects exist before the page of one: without a second one the page has no continue token.
    await create('b');
    const first = (await ask('GET', `${maps}?limit=1`)).json();
    const newest = await create('c');
    await fetch(`${etcd.endpoint}/v3/kv/compaction`, {
      method: 'POST',
      body: JSON.stringify({ revision: newest, physical: true }),
    });
    assert.deepEqual(said(await ask('GET', `${maps}?resourceVersion=${old}&resourceVersionMatch=Exact`)), [
      410,
      'Expired',
      'The resourceVersion for the provided list is too old.',
    ]);
    // The server that gave the first page out has the next ones in memory for a minute.
    await elsewhere.kill();
    await elsewhere.start();
    const expired = await ask('GET', `${maps}?limit=1&continue=${first.metadata.continue}`);
    assert.deepEqual([expired.status, expired.json().reason], [410, 'Expired']);
    const rest = (await ask('GET', `${maps}?continue=${expired.json().metadata.continue}`)).json();
    assert.deepEqual([...ownNames(first), ...ownNames(rest)], ['a', 'b', 'c']);
    const watched = await watchEvents(
      elsewhere,
      `${maps}?watch=1&resourceVersion=${old}&timeoutSeconds=5`,
      ({ length }) => length === 1,
    );
    assert.deepEqual(
      watched.map(({ type, object }) => [type, object.code, object.reason]),
      [['ERROR', 410, 'Expired']],
    );
    assert.deepEqual(ownNames((await ask('GET', `${maps}?resourceVersion=0`)).json()), ['a', 'b', 'c']);
  } finally {
    await elsewhere.stop();
    await etcd.stop();
  }
});
