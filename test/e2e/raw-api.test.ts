// The API's concepts as its documents tell them, asked with kubectl's --raw and, where that cannot, with plain HTTP.
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { after, before, describe, it } from 'node:test';
import { startEtcd } from '../integration/support/etcd.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { rawHttp, watchEvents } from './support/raw-http.ts';
import type { Raw, RawJson, RawReply, WatchEvent } from './support/raw-http.ts';

let cluster: TestCluster;
let raw: Raw;
before(async () => {
  cluster = await startCluster();
  raw = rawHttp(cluster);
});
after(() => cluster.stop());

/** The path of the ConfigMaps of a new namespace. */
async function newMaps(namespace: string): Promise<string> {
  await cluster.kubectl(['create', 'namespace', namespace]);
  const maps = `/api/v1/namespaces/${namespace}/configmaps`;
  // What every namespace gets is not to come in between.
  await cluster.kubectl([
    'wait',
    '--for=create',
    'configmap/kube-root-ca.crt',
    `--namespace=${namespace}`,
    '--timeout=30s',
  ]);
  await raw('DELETE', `${maps}/kube-root-ca.crt`);
  await cluster.kubectl([
    'wait',
    '--for=create',
    'configmap/kube-root-ca.crt',
    `--namespace=${namespace}`,
    '--timeout=30s',
  ]);
  return maps;
}

const own = (list: RawJson): readonly string[] =>
  list.items.map(({ metadata }) => metadata.name).filter((name) => name !== 'kube-root-ca.crt');
const configMap = (name: string, rest: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...rest,
});
const make = async (maps: string, name: string, rest?: object): Promise<RawJson> =>
  (await raw('POST', maps, { body: configMap(name, rest) })).json();
const list = async (path: string): Promise<RawJson> =>
  JSON.parse(await cluster.kubectl(['get', '--raw', path])) as RawJson;
const said = (reply: RawReply): readonly unknown[] => [reply.status, reply.json().reason, reply.json().message];
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
    const names = [first, second, third].flatMap(own);
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
    assert.deepEqual(own(await list(maps)), []);
  });

  it('are of the version that is asked for', async () => {
    const maps = await newMaps('versions');
    const old = (await make(maps, 'a')).metadata.resourceVersion;
    await make(maps, 'b');
    const at = async (query: string): Promise<readonly string[]> => own(await list(`${maps}?${query}`));
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

  it('begin with what is there when asked, and say when that was all', async () => {
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

describe('bodies and answers', { concurrency: 4 }, () => {
  const yaml = { 'content-type': 'application/yaml' };

  it('say what they do not know, as strictly as asked', async () => {
    const maps = await newMaps('strict');
    const odd = (name: string): string =>
      `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"${name}"},"data":{"a":"1"},"data":{"a":"2"},"color":"red"}`;
    const strict = await raw('POST', `${maps}?fieldValidation=Strict`, { body: odd('a') });
    assert.deepEqual([strict.status, strict.json().reason], [400, 'BadRequest']);
    assert.match(strict.json().message, /strict decoding error: .*duplicate field "data".*/);
    assert.match(strict.json().message, /unknown field "color"/);
    const warned = await raw('POST', `${maps}?fieldValidation=Warn`, { body: odd('a') });
    assert.equal(warned.status, 201);
    assert.match(
      String(warned.headers['warning']),
      /299 - "duplicate field \\"data\\"".*299 - "unknown field \\"color\\""|299 - "unknown field \\"color\\"".*299 - "duplicate field \\"data\\""/,
    );
    const silent = await raw('POST', `${maps}?fieldValidation=Ignore`, { body: odd('b') });
    assert.deepEqual([silent.status, silent.headers['warning']], [201, undefined]);
    const wrong = await raw('POST', `${maps}?fieldValidation=Sometimes`, { body: odd('c') });
    assert.deepEqual([wrong.status, wrong.json().reason], [422, 'Invalid']);
    const twice = await raw('POST', `${maps}?fieldValidation=Strict`, {
      headers: yaml,
      body: 'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: d}\ndata: {a: b}\ncolor: red\n',
    });
    assert.match(twice.json().message, /unknown field "color"/);
    assert.equal((await raw('POST', `${maps}?dryRun=Some`, { body: odd('e') })).json().reason, 'Invalid');
  });

  it('may be YAML or protobuf', async () => {
    const maps = await newMaps('encodings');
    const made = await raw('POST', maps, {
      headers: { ...yaml, accept: 'application/yaml' },
      body: 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\ndata:\n  on: "yes"\n',
    });
    assert.deepEqual([made.status, made.headers['content-type']], [201, 'application/yaml']);
    assert.match(made.text, /^ {2}"?on"?: "yes"$/m);
    const field = (number: number, value: Buffer | string): Buffer =>
      Buffer.concat([Buffer.from([(number << 3) | 2, Buffer.byteLength(value)]), Buffer.from(value)]);
    const object = Buffer.concat([
      field(1, field(1, 'b')),
      field(2, Buffer.concat([field(1, 'key'), field(2, 'value')])),
    ]);
    const envelope = Buffer.concat([
      Buffer.from('k8s\0'),
      field(1, Buffer.concat([field(1, 'v1'), field(2, 'ConfigMap')])),
      field(2, object),
    ]);
    const binary = {
      'content-type': 'application/vnd.kubernetes.protobuf',
      accept: 'application/vnd.kubernetes.protobuf,application/json',
    };
    const sent = await raw('POST', maps, { headers: binary, body: envelope });
    assert.deepEqual(
      [sent.status, sent.headers['content-type'], sent.json().data],
      [201, 'application/json', { key: 'value' }],
    );
    const broken = await raw('POST', maps, { headers: binary, body: envelope.subarray(0, 20) });
    assert.deepEqual([broken.status, broken.json().kind], [400, 'Status']);
    assert.deepEqual(
      (await raw('POST', maps, { headers: { 'content-type': 'text/plain' }, body: 'x' })).json().reason,
      'UnsupportedMediaType',
    );
    assert.deepEqual((await raw('GET', maps, { headers: { accept: 'image/png' } })).json().reason, 'NotAcceptable');
    for (const body of ['', '[]', '{', '"x"', 'null'])
      assert.equal((await raw('POST', maps, { body })).status, 400, body);
  });

  it('come as tables and as metadata alone', async () => {
    const maps = await newMaps('forms');
    await make(maps, 'a', { data: { x: 'y' } });
    const get = async (as: string, query = '', path = `${maps}/a`): Promise<RawJson> =>
      (
        await raw('GET', `${path}${query}`, {
          headers: { accept: `application/json;as=${as};g=meta.k8s.io;v=v1,application/json` },
        })
      ).json();
    const table = await get('Table');
    assert.deepEqual(
      [table.kind, table.apiVersion, table.rows[0]?.cells.slice(0, 2), table.rows[0]?.object?.kind],
      ['Table', 'meta.k8s.io/v1', ['a', 1], 'PartialObjectMetadata'],
    );
    assert.deepEqual((await get('Table', '?includeObject=None')).rows[0]?.object, null);
    assert.deepEqual((await get('Table', '?includeObject=Object')).rows[0]?.object?.data, { x: 'y' });
    assert.equal((await get('Table', '?includeObject=Some')).reason, 'BadRequest');
    const partial = await get('PartialObjectMetadata');
    assert.deepEqual([partial.kind, partial.metadata.name, partial.data], ['PartialObjectMetadata', 'a', undefined]);
    const partials = await get('PartialObjectMetadataList', '', maps);
    assert.deepEqual([partials.kind, own(partials)], ['PartialObjectMetadataList', ['a']]);
    const status = await get('Table', '', `${maps}/nobody`);
    assert.deepEqual([status.kind, status.reason], ['Status', 'NotFound']);
    const refused = await raw('GET', `${maps}/a`, {
      headers: { accept: 'application/json;as=Chart;g=meta.k8s.io;v=v1' },
    });
    assert.equal(refused.status, 406);
    await cluster.kubectl(['create', 'deployment', 'web', '--image=nginx', '--replicas=2', '--namespace=forms']);
    const scale = await get('Table', '', '/apis/apps/v1/namespaces/forms/deployments/web/scale');
    assert.deepEqual(
      [scale.columnDefinitions.map(({ name }) => name), scale.rows[0]?.cells.slice(0, 2)],
      [
        ['Name', 'Desired', 'Available', 'Age'],
        ['web', 2],
      ],
    );
  });

  it('to what is not there are what the API says', async () => {
    const statuses = await Promise.all(
      [
        '/api/v2',
        '/apis/apps/v2/deployments',
        '/api/v1/widgets',
        '/api/v1/namespaces/default/pods/none',
        '/api/v1/nodes/none/status',
        '/nothing',
        '/api/v1/namespaces/default/configmaps/a/status',
      ].map(async (path) => (await raw('GET', path)).status),
    );
    assert.deepEqual(statuses, [404, 404, 404, 404, 404, 404, 404]);
    const methods = await Promise.all(
      (
        [
          ['PUT', '/api/v1/pods'],
          ['POST', '/api/v1/pods'],
          ['DELETE', '/api/v1/namespaces'],
          ['PATCH', '/api/v1/namespaces/default/pods'],
        ] as const
      ).map(async ([method, path]) => (await raw(method, path, { body: {} })).status),
    );
    assert.deepEqual(methods, [405, 405, 405, 405]);
    const taken = await raw('POST', '/api/v1/namespaces', { body: { metadata: { name: 'default' } } });
    assert.deepEqual(said(taken), [409, 'AlreadyExists', 'namespaces "default" already exists']);
    const other = await raw('PUT', '/api/v1/namespaces/default', { body: { metadata: { name: 'other' } } });
    assert.deepEqual(said(other), [
      400,
      'BadRequest',
      'the name of the object (other) does not match the name on the URL (default)',
    ]);
  });
});

describe('documents', { concurrency: 4 }, () => {
  it('of OpenAPI v3 are found by an index whose addresses may be kept for ever', async () => {
    const index = (await raw('GET', '/openapi/v3')).json<{ paths: Record<string, { serverRelativeURL: string }> }>();
    const groups = (await raw('GET', '/apis'))
      .json<{ groups: { versions: { groupVersion: string }[] }[] }>()
      .groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => `apis/${groupVersion}`));
    for (const path of ['api/v1', ...groups]) {
      const address = index.paths[path]?.serverRelativeURL ?? '';
      assert.match(address, /\?hash=[0-9A-F]{128}$/, path);
      const document = await raw('GET', address);
      const { openapi, paths, components } = document.json<{
        openapi: string;
        paths: Record<string, unknown>;
        components: { schemas: Record<string, unknown> };
      }>();
      assert.deepEqual(
        [
          openapi.slice(0, 2),
          Object.keys(paths).every((each) => each.startsWith(`/${path}/`)),
          Object.keys(components.schemas).length > 3,
        ],
        ['3.', true, true],
        path,
      );
      assert.match(String(document.headers['cache-control']), /immutable/);
      for (const ref of document.text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
        assert.ok(ref[1] !== undefined && ref[1] in components.schemas, `${ref[1]} is missing in ${path}`);
    }
    const etag = String((await raw('GET', index.paths['api/v1']?.serverRelativeURL ?? '')).headers.etag);
    assert.equal((await raw('GET', '/openapi/v3/api/v1', { headers: { 'if-none-match': etag } })).status, 304);
  });

  it('of OpenAPI v2 come as JSON and protobuf, and compressed', async () => {
    const plain = await raw('GET', '/openapi/v2');
    const { swagger, definitions } = plain.json<{
      swagger: string;
      definitions: Record<string, { 'x-kubernetes-group-version-kind'?: unknown }>;
    }>();
    assert.equal(swagger, '2.0');
    assert.deepEqual(definitions['io.k8s.api.apps.v1.Deployment']?.['x-kubernetes-group-version-kind'], [
      { group: 'apps', kind: 'Deployment', version: 'v1' },
    ]);
    const binary = await raw('GET', '/openapi/v2', {
      headers: { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' },
    });
    assert.deepEqual([binary.status, binary.bytes.subarray(2, 5).toString()], [200, '2.0']);
    const packed = await raw('GET', '/openapi/v2', { headers: { 'accept-encoding': 'gzip' } });
    assert.equal(packed.headers['content-encoding'], 'gzip');
    assert.deepEqual(
      Object.keys((JSON.parse(gunzipSync(packed.bytes).toString()) as { definitions: object }).definitions),
      Object.keys(definitions),
    );
    for (const ref of plain.text.matchAll(/"#\/definitions\/([^"]+)"/g))
      assert.ok(ref[1] !== undefined && ref[1] in definitions, `${ref[1]} is missing`);
  });

  it('of discovery list the same kinds, whole or group by group', async () => {
    const aggregated = { accept: 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList' };
    const found: string[] = [];
    for (const path of ['/api', '/apis']) {
      const { items } = (await raw('GET', path, { headers: aggregated })).json<{
        items: { metadata: { name?: string }; versions: { version: string; resources: { resource: string }[] }[] }[];
      }>();
      for (const { metadata, versions } of items)
        for (const { version, resources } of versions)
          for (const { resource } of resources) found.push(`${metadata.name ?? ''}/${version} ${resource}`);
    }
    const single: string[] = [];
    const groups = (await raw('GET', '/apis'))
      .json<{ groups: { versions: { groupVersion: string }[] }[] }>()
      .groups.flatMap(({ versions }) => versions.map(({ groupVersion }) => groupVersion));
    for (const each of ['v1', ...groups]) {
      const { resources } = (await raw('GET', each === 'v1' ? '/api/v1' : `/apis/${each}`)).json<{
        resources: { name: string }[];
      }>();
      for (const { name } of resources) if (!name.includes('/')) single.push(`${each === 'v1' ? '/v1' : each} ${name}`);
    }
    assert.deepEqual(found.sort(), single.sort());
    assert.ok(found.includes('apps/v1 deployments') && !found.some((name) => name.includes('customresource')));
  });
});

it('what was compacted away is gone, for lists and for watches of a server that began later', async () => {
  const etcd = await startEtcd();
  const elsewhere = await startCluster({ etcd });
  try {
    const ask = rawHttp(elsewhere);
    const maps = '/api/v1/namespaces/default/configmaps';
    const create = async (name: string): Promise<string> =>
      (await ask('POST', maps, { body: configMap(name) })).json().metadata.resourceVersion;
    const old = await create('a');
    const first = (await ask('GET', `${maps}?limit=1`)).json();
    await create('b');
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
    const expired = await ask('GET', `${maps}?limit=1&continue=${first.metadata.continue}`);
    assert.deepEqual([expired.status, expired.json().reason], [410, 'Expired']);
    const rest = (await ask('GET', `${maps}?continue=${expired.json().metadata.continue}`)).json();
    assert.deepEqual([...own(first), ...own(rest)], ['a', 'b', 'c']);
    await elsewhere.kill();
    await elsewhere.start();
    const watched = await watchEvents(
      elsewhere,
      `${maps}?watch=1&resourceVersion=${old}&timeoutSeconds=5`,
      ({ length }) => length === 1,
    );
    assert.deepEqual(
      watched.map(({ type, object }) => [type, object.code, object.reason]),
      [['ERROR', 410, 'Expired']],
    );
    assert.deepEqual(own((await ask('GET', `${maps}?resourceVersion=0`)).json()), ['a', 'b', 'c']);
  } finally {
    await elsewhere.stop();
    await etcd.stop();
  }
});
