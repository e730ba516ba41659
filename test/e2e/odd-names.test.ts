// Names that mean something to JavaScript or that have no UTF-8, wherever a client may write a name.
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { allResources } from '../../src/control-plane/resources/all.ts';
import { startCluster } from './support/cluster.ts';
import type { TestCluster } from './support/cluster.ts';
import { certificateRequest, everyKind, everyReview } from './support/every-kind.ts';
import type { KindManifest } from './support/every-kind.ts';
import { collectionPath } from './support/every-verb.ts';
import { http2Admin } from './support/http2-admin.ts';
import type { Http2Admin, Http2Reply, Http2Request } from './support/http2-admin.ts';

const namespace = 'odd';
const inherited = ['constructor', 'toString', 'hasOwnProperty'];
const words = ['__proto__', ...inherited];
const json = { 'content-type': 'application/json' };

let cluster: TestCluster;
let admin: Http2Admin;
let kinds: readonly (KindManifest & { readonly path: string })[];

before(async () => {
  cluster = await startCluster();
  admin = http2Admin(cluster);
  await send({
    method: 'POST',
    path: '/api/v1/namespaces',
    headers: json,
    body: JSON.stringify({ metadata: { name: namespace } }),
  });
  kinds = everyKind(await certificateRequest(cluster.folder), namespace).map((kind) => {
    const definition = allResources.find(
      ({ type }) =>
        type.kind === kind.manifest['kind'] &&
        kind.manifest['apiVersion'] === (type.group === '' ? type.version : `${type.group}/${type.version}`),
    );
    assert.ok(definition !== undefined);
    return { ...kind, path: collectionPath(definition, namespace) };
  });
});
after(async () => {
  admin.close();
  await cluster.stop();
});

/**
 * No input of a client may cause an internal error of the server; some errors for patches are 500 with upstream's
 * message.
 */
async function send(request: Http2Request): Promise<Http2Reply> {
  const reply = await admin.send(request);
  assert.ok(
    reply.status > 0 && !reply.text.includes('"reason":"InternalError"'),
    `${request.method} ${request.path} ${JSON.stringify(request.headers ?? {})} ${request.body ?? ''}: ${reply.status} ${reply.text}`,
  );
  return reply;
}

const post = (path: string, body: unknown): Promise<Http2Reply> =>
  send({ method: 'POST', path, headers: json, body: typeof body === 'string' ? body : JSON.stringify(body) });

/** Yields the value with one of its strings or keys replaced by the result of `change`, for each of them. */
function* variants(value: unknown, word: string): Generator<string> {
  if (typeof value === 'string') yield JSON.stringify(word);
  else if (Array.isArray(value)) {
    for (const [index, item] of value.entries())
      for (const changed of variants(item, word))
        yield `[${value.map((each, at) => (at === index ? changed : JSON.stringify(each))).join(',')}]`;
  } else if (typeof value === 'object' && value !== null) {
    const entries = Object.entries(value);
    const text = (at: number, changed: string): string =>
      entries
        .map(([key, each], index) => `${JSON.stringify(key)}:${index === at ? changed : JSON.stringify(each)}`)
        .join(',');
    for (const extra of ['"1"', '{}', '[]'])
      yield `{${text(-1, '')}${entries.length === 0 ? '' : ','}${JSON.stringify(word)}:${extra}}`;
    for (const [at, [, each]] of entries.entries())
      for (const changed of variants(each, word)) yield `{${text(at, changed)}}`;
  }
}

describe('names of properties that every JavaScript object inherits', { concurrency: 4 }, () => {
  it('is a name like any other in methods, paths, queries and headers', async () => {
    const maps = `/api/v1/namespaces/${namespace}/configmaps`;
    for (const word of words) {
      for (const path of [
        maps,
        `${maps}/a`,
        `${maps}/${word}`,
        '/healthz',
        '/metrics',
        '/api',
        '/openapi/v2',
        `/api/v1/namespaces/${namespace}/pods/a/exec`,
      ])
        await send({ method: word, path });
      const paths = [
        `/${word}`,
        `/api/${word}`,
        `/apis/${word}`,
        `/apis/${word}/v1`,
        `/apis/${word}/v1/pods`,
        `/apis/apps/${word}/deployments`,
        `/apis/apps/v1/${word}`,
        `/api/v1/${word}`,
        `/api/${word}/pods`,
        `/api/v1/namespaces/${word}/pods`,
        `/api/v1/namespaces/${word}/${word}`,
        `${maps}/${word}`,
        `${maps}/a/${word}`,
        `/api/v1/namespaces/${namespace}/pods/a/${word}`,
        `/api/v1/nodes/${word}/proxy/${word}`,
        `/api/v1/namespaces/${namespace}/services/${word}/proxy/`,
        `/openapi/v3/${word}`,
        `/openapi/v3/apis/${word}/v1`,
        `${maps}?${word}=1`,
        `${maps}?fieldSelector=${word}=1`,
        `${maps}?fieldSelector=metadata.${word}=1`,
        `${maps}?labelSelector=${word}`,
        `${maps}?labelSelector=${word}=${word}`,
        `${maps}?labelSelector=a+${word}+(b)`,
        `${maps}?resourceVersionMatch=${word}`,
        `${maps}?continue=${word}`,
        `${maps}?watch=${word}&timeoutSeconds=1&resourceVersion=${word}`,
        `${maps}?pretty=${word}`,
        `${maps}?includeObject=${word}`,
        `${maps}?limit=${word}`,
        `/readyz?exclude=${word}`,
        `/readyz/${word}`,
        `/healthz?verbose=${word}`,
      ];
      for (const path of paths) await send({ method: 'GET', path });
      for (const query of [
        'dryRun',
        'fieldManager',
        'fieldValidation',
        'propagationPolicy',
        'gracePeriodSeconds',
        'orphanDependents',
        'force',
        'timeout',
      ])
        for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
          await send({
            method,
            path: `${maps}${method === 'POST' ? '' : '/none'}?${query}=${word}`,
            headers: json,
            body: '{"metadata":{"generateName":"a-"}}',
          });
      for (const type of [
        word,
        `application/${word}`,
        `application/json;${word}=${word}`,
        `application/json;as=${word};g=${word};v=${word}`,
        `application/json;as=Table;g=meta.k8s.io;v=${word}`,
      ]) {
        await send({ method: 'GET', path: maps, headers: { accept: type } });
        for (const method of ['POST', 'PATCH', 'PUT', 'DELETE'])
          await send({ method, path: `${maps}/none`, headers: { 'content-type': type }, body: '{}' });
      }
      const lower = word.toLowerCase();
      for (const headers of [
        { 'impersonate-user': word },
        { 'impersonate-user': 'a', 'impersonate-group': word },
        { 'impersonate-user': 'a', [`impersonate-extra-${lower}`]: word },
        { 'impersonate-user': 'a', 'impersonate-uid': word },
        { [lower]: word },
        { 'accept-encoding': word },
        { 'audit-id': word },
        { authorization: word },
        { authorization: `Bearer ${word}` },
      ])
        await send({ method: 'GET', path: maps, headers });
    }
  });

  const create = (path: string, body: string): Promise<Http2Reply> => post(`${path}?dryRun=All`, body);
  const apply = (path: string, word: string, body: string): Promise<Http2Reply> =>
    send({
      method: 'PATCH',
      path: `${path}/absent?fieldManager=${word}&dryRun=All`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body,
    });

  it('is a name like any other in every field of every kind, written and applied', async () => {
    for (const [at, { manifest, path }] of kinds.entries()) {
      // `__proto__` is the only one that an assignment does not store as a property. The others are inherited
      // functions; one of them is used in each field, another one for the next kind. Decoding, validation and storage
      // are the same for both verbs, so create and apply alternate.
      for (const text of variants(manifest, '__proto__')) {
        await create(path, text);
        await apply(path, '__proto__', text);
      }
      const word = inherited[at % inherited.length] ?? '';
      for (const [turn, text] of [...variants(manifest, word)].entries())
        await (turn % 2 === 0 ? create(path, text) : apply(path, word, text));
      for (const word of words) {
        const metadata = {
          ...(manifest['metadata'] as object),
          name: 'odd',
          finalizers: [`example.com/${word}`, word],
          labels: { [word]: word },
          annotations: { [word]: word },
          ownerReferences: [{ apiVersion: word, kind: word, name: word, uid: word }],
        };
        await post(`${path}?dryRun=All`, { ...manifest, metadata });
      }
    }
  });

  it('is a name like any other in patches and in reviews', async () => {
    const path = `/api/v1/namespaces/${namespace}/configmaps`;
    await post(path, { metadata: { name: 'patched', labels: { a: 'b' } }, data: { a: 'b' } });
    for (const word of words) {
      const patches: readonly (readonly [string, string])[] = [
        [
          'application/merge-patch+json',
          `{"metadata":{"labels":{"${word}":"1"}},"data":{"${word}":"1"},"${word}":{"a":1}}`,
        ],
        [
          'application/strategic-merge-patch+json',
          `{"metadata":{"labels":{"${word}":"1"}},"data":{"${word}":"1"},"$retainKeys":["${word}"],"$patch":"${word}"}`,
        ],
        [
          'application/strategic-merge-patch+json',
          `{"metadata":{"finalizers":["${word}"],"$deleteFromPrimitiveList/${word}":["a"],"$setElementOrder/${word}":["a"]}}`,
        ],
        [
          'application/json-patch+json',
          `[{"op":"add","path":"/data/${word}","value":"1"},{"op":"${word}","path":"/${word}"}]`,
        ],
        ['application/json-patch+json', `[{"op":"remove","path":"/${word}/${word}"}]`],
        ['application/json-patch+json', `[{"op":"copy","from":"/${word}","path":"/data/x"}]`],
      ];
      for (const [type, body] of patches)
        await send({ method: 'PATCH', path: `${path}/patched?dryRun=All`, headers: { 'content-type': type }, body });
      for (const review of everyReview) {
        const [group, version] = String(review['apiVersion']).split('/');
        const scope = review['kind'] === 'LocalSubjectAccessReview' ? '/namespaces/default' : '';
        for (const text of variants(review, word))
          await post(`/apis/${group}/${version}${scope}/${String(review['kind']).toLowerCase()}s`, text);
      }
    }
    const { text } = await send({ method: 'GET', path: `${path}/patched` });
    assert.deepEqual((JSON.parse(text) as { data: object }).data, { a: 'b' });
  });

  it('makes no label of a metric, and nothing that the log calls a fault of the server', async () => {
    const { text } = await send({ method: 'GET', path: '/metrics' });
    assert.doesNotMatch(text, /="[^"]*(function|native code|\[object)/);
    assert.doesNotMatch(cluster.log(), /fault of the server|uncaught|rejected/);
  });
});

describe('a comma or an equals sign in a name', () => {
  it('is escaped in a field selector, which the authorizer and the list read in the same way', async () => {
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const roles = `${rbac}/namespaces/${namespace}/roles`;
    const name = 'a,b=c\\d';
    for (const each of [name, 'a', 'b=c']) await post(roles, { metadata: { name: each }, rules: [] });
    const list = async (selector: string, as?: string): Promise<readonly unknown[]> => {
      const { status, text } = await send({
        method: 'GET',
        path: `${roles}?fieldSelector=${encodeURIComponent(selector)}`,
        ...(as !== undefined && { as }),
      });
      return [
        status,
        ...(status === 200
          ? (JSON.parse(text) as { items: { metadata: { name: string } }[] }).items.map(({ metadata }) => metadata.name)
          : []),
      ];
    };
    assert.deepEqual(await list('metadata.name=a\\,b\\=c\\\\d'), [200, name]);
    for (const wrong of ['metadata.name=a,b=c', 'metadata.name=a\\,b=c', 'metadata.name=a\\b', 'metadata.name=a\\'])
      assert.deepEqual(await list(wrong), [400], wrong);
    await post(`${rbac}/clusterroles`, {
      metadata: { name: 'odd-lister' },
      rules: [
        {
          apiGroups: ['rbac.authorization.k8s.io'],
          resources: ['roles'],
          verbs: ['list', 'watch'],
          resourceNames: [name],
        },
      ],
    });
    await post(`${rbac}/clusterrolebindings`, {
      metadata: { name: 'odd-lister' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'odd-lister' },
      subjects: [{ kind: 'User', name: 'lister', apiGroup: 'rbac.authorization.k8s.io' }],
    });
    assert.deepEqual(
      [
        await list('metadata.name=a\\,b\\=c\\\\d', 'lister'),
        await list('metadata.name=a', 'lister'),
        await list('metadata.name!=a\\,b\\=c\\\\d', 'lister'),
      ],
      [[200, name], [403], [403]],
    );
  });
});

describe('half a character', { concurrency: 4 }, () => {
  it('is U+FFFD in names and values of every kind: in the answer, in the store, in lists and in paths', async () => {
    const whole = (value: unknown): boolean =>
      typeof value === 'string'
        ? value.isWellFormed()
        : typeof value === 'object' && value !== null
          ? Object.entries(value).every((entry) => entry.every(whole))
          : true;
    const names: string[] = [];
    for (const { manifest, path } of kinds) {
      const own = manifest['metadata'] as { name: string };
      const annotated = await post(path, {
        ...manifest,
        metadata: { ...own, name: `${own.name}-half`, annotations: { note: 'a\ud800', other: '\udc00\ud800' } },
      });
      assert.ok([201, 422].includes(annotated.status), annotated.text);
      const named = await post(path, { ...manifest, metadata: { ...own, name: `half\ud800${own.name}` } });
      for (const { status, text } of [annotated, named]) if (status === 201) assert.ok(whole(JSON.parse(text)), text);
      if (named.status !== 201) continue;
      const name = `half\ufffd${own.name}`;
      names.push(path.split('/').at(-1) ?? '');
      assert.equal((await send({ method: 'GET', path: `${path}/${encodeURIComponent(name)}` })).status, 200);
      assert.equal(
        (await post(path, { ...manifest, metadata: { ...own, name: `half\udfff${own.name}` } })).status,
        409,
        'another half is the same name',
      );
      assert.ok(whole(JSON.parse((await send({ method: 'GET', path })).text)));
      assert.equal((await send({ method: 'DELETE', path: `${path}/${encodeURIComponent(name)}` })).status, 200);
    }
    // The kinds whose names may be nearly anything.
    for (const plural of ['clusterrolebindings', 'clusterroles', 'rolebindings', 'roles'])
      assert.ok(names.includes(plural), plural);
  });

  it('is refused in paths, where it has no escape', async () => {
    assert.equal(
      (await send({ method: 'GET', path: `/api/v1/namespaces/${namespace}/configmaps/%ED%A0%80` })).status,
      400,
    );
  });
});
