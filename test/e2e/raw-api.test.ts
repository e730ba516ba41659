// The API's concepts as its documents tell them, asked with kubectl's --raw and, where that cannot, with plain HTTP.
import assert from 'node:assert/strict';
import { gunzipSync } from 'node:zlib';
import { after, before, describe, it } from 'node:test';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { configMap, makeMaps, ownNames, said } from './support/raw-maps.ts';
import { rawHttp } from './support/raw-http.ts';
import type { Raw, RawJson } from './support/raw-http.ts';

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
    const protobuf = 'application/vnd.kubernetes.protobuf';
    const both = { 'content-type': protobuf, accept: `${protobuf},application/json` };
    const sent = await raw('POST', maps, { headers: both, body: envelope });
    assert.deepEqual([sent.status, sent.headers['content-type'], sent.text.slice(0, 4)], [201, protobuf, 'k8s\0']);
    assert.deepEqual((await raw('GET', `${maps}/b`)).json().data, { key: 'value' });
    const onlySent = { 'content-type': protobuf, accept: 'application/json' };
    const broken = await raw('POST', maps, { headers: onlySent, body: envelope.subarray(0, 20) });
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
    assert.deepEqual([partials.kind, ownNames(partials)], ['PartialObjectMetadataList', ['a']]);
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

  it('to missing resources have the errors of the API', async () => {
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
    for (const each of ['apps/v1 deployments', 'apiextensions.k8s.io/v1 customresourcedefinitions'])
      assert.ok(found.includes(each), each);
  });
});
