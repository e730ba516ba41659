import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fixedDefinitions } from '../../model/definitions.ts';
import type { ApiObject } from '../../../api/client/resource-type.ts';
import { bodyJson, bodyText, fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import type { FakeRequestOptions } from '../testing/fake-request.ts';
import { definition, fixture } from '../testing/fixtures.ts';
import type { Fixture } from '../testing/fixtures.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const json = { 'content-type': 'application/json' };

async function send(
  { server }: Fixture,
  method: string,
  target: string,
  options: FakeRequestOptions = {},
): Promise<{ status: number; body: Record<string, unknown> }> {
  const reply = await server.handle(fakeRequest(method, target, options));
  return { status: reply.status, body: bodyJson(reply) };
}

const make = (each: Fixture, name: string, target = maps): Promise<{ status: number; body: Record<string, unknown> }> =>
  send(each, 'POST', target, { headers: json, body: { metadata: { name } } });
const last = ({ registry }: Fixture): { verb: string; options: unknown; context: unknown } => {
  const call = registry.calls.at(-1);
  return { verb: call?.verb ?? '', options: call?.options, context: call?.request.context };
};
const messageOf = (reply: { body: Record<string, unknown> }): unknown => reply.body.message;

describe('verbs onto the registry', () => {
  it('answers 201 for a created object and 200 for an updated one', async () => {
    const each = fixture();
    const body = { metadata: { name: 'a' } };
    const statuses = [
      (await make(each, 'a')).status,
      (await make(each, 'a')).status,
      (await send(each, 'GET', `${maps}/a`)).status,
      (await send(each, 'PUT', `${maps}/a`, { headers: json, body })).status,
      (await send(each, 'PUT', `${maps}/new`, { headers: json, body: { metadata: { name: 'new' } } })).status,
      (await send(each, 'DELETE', `${maps}/a`)).status,
      (await send(each, 'GET', `${maps}/a`)).status,
    ];
    assert.deepEqual(statuses, [201, 409, 200, 200, 201, 200, 404]);
  });

  it('answers a deletion with a Status, and with the object for the kinds that do so', async () => {
    const each = fixture();
    await make(each, 'a');
    await make(each, 'p', '/api/v1/namespaces/default/pods');
    const status = await send(each, 'DELETE', `${maps}/a`);
    const pod = await send(each, 'DELETE', '/api/v1/namespaces/default/pods/p');
    assert.deepEqual(
      [status.body, pod.body.kind],
      [
        {
          kind: 'Status',
          apiVersion: 'v1',
          metadata: {},
          status: 'Success',
          details: { name: 'a', kind: 'configmaps', uid: 'uid-1' },
        },
        'Pod',
      ],
    );
  });

  it('hands on options of writes, and the user agent’s name as the field manager', async () => {
    const each = fixture();
    await send(each, 'POST', `${maps}?dryRun=All&fieldManager=me&fieldValidation=Strict`, {
      headers: json,
      body: { metadata: { name: 'a' } },
    });
    const { dryRun, fieldManager, fieldValidation } = last(each).context as Record<string, unknown>;
    await send(each, 'POST', maps, {
      headers: { ...json, 'user-agent': 'kubectl/v1.36 (linux)' },
      body: { metadata: { name: 'a' } },
    });
    const other = last(each).context as Record<string, unknown>;
    assert.deepEqual(
      [dryRun, fieldManager, fieldValidation, other.fieldManager, other.fieldValidation, other.dryRun],
      [true, 'me', 'Strict', 'kubectl', 'Warn', false],
    );
  });

  it('hands on options of lists', async () => {
    const each = fixture();
    await send(
      each,
      'GET',
      `${maps}?labelSelector=a%3Db&fieldSelector=metadata.name%3Dx&limit=5&resourceVersion=7&resourceVersionMatch=Exact`,
    );
    assert.deepEqual(last(each).options, {
      labelSelector: 'a=b',
      fieldSelector: 'metadata.name=x',
      limit: 5,
      resourceVersion: '7',
      resourceVersionMatch: 'Exact',
    });
  });

  it('shows a subresource of another kind as a table of that kind', async () => {
    const views = [
      {
        name: 'scale',
        kind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        columns: [{ name: 'Desired', type: 'integer', description: '', cell: () => 3 }],
        verbs: ['get'],
        write: (current: ApiObject) => current,
        validate: () => [],
      },
    ] as const;
    const broken = [
      { name: 'Ready', type: 'string', description: '', cell: () => assert.fail('this is no column of a Scale') },
    ] as const;
    const sized = fixture({
      definitions: fixedDefinitions([definition('Sized', 'sizeds', { views, columns: broken })]),
    });
    await send(sized, 'POST', '/api/v1/namespaces/default/sizeds', {
      headers: json,
      body: { metadata: { name: 'a' } },
    });
    const table = await send(sized, 'GET', '/api/v1/namespaces/default/sizeds/a/scale', {
      headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' },
    });
    const [row] = (table.body as { rows: { cells: unknown[] }[] }).rows;
    assert.deepEqual(row?.cells.slice(0, 2), ['a', 3]);
  });

  it('refuses wrong options in upstream’s words', async () => {
    const each = fixture();
    const said = async (method: string, target: string, headers: Record<string, string> = json): Promise<unknown> =>
      messageOf(await send(each, method, target, { headers, body: { metadata: { name: 'a' } } }));
    const invalid = (kind: string, rest: string): string => `${kind}.meta.k8s.io "" is invalid: ${rest}`;
    assert.deepEqual(
      [
        await said('GET', `${maps}?limit=x`),
        await said('GET', `${maps}?resourceVersionMatch=Exact`),
        await said('GET', `${maps}?resourceVersion=0&resourceVersionMatch=Exact`),
        await said('GET', `${maps}?sendInitialEvents=true`),
        await said('GET', `${maps}?watch=1&sendInitialEvents=true`),
        await said('POST', `${maps}?dryRun=Some`),
        await said('POST', `${maps}?fieldManager=${'x'.repeat(129)}`),
        await said('POST', `${maps}?fieldValidation=Maybe`),
        await said('PATCH', `${maps}/a`, { 'content-type': 'application/apply-patch+yaml' }),
        await said('PATCH', `${maps}/a?force=true`, { 'content-type': 'application/merge-patch+json' }),
        await said('PATCH', `${maps}/a`),
        await said('DELETE', `${maps}/a`, { 'content-type': 'text/html' }),
      ],
      [
        'strconv.ParseInt: parsing "x": invalid syntax',
        invalid(
          'ListOptions',
          'resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided',
        ),
        invalid(
          'ListOptions',
          'resourceVersionMatch: Forbidden: resourceVersionMatch "exact" is forbidden for resourceVersion "0"',
        ),
        invalid('ListOptions', 'sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list'),
        invalid(
          'ListOptions',
          'resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan',
        ),
        invalid('CreateOptions', 'dryRun: Unsupported value: ["Some"]: supported values: "All"'),
        invalid('CreateOptions', 'fieldManager: Too long: may not be more than 128 bytes'),
        invalid(
          'CreateOptions',
          'fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"',
        ),
        invalid('PatchOptions', 'fieldManager: Required value: is required for apply patch'),
        invalid('PatchOptions', 'force: Forbidden: may not be specified for non-apply patch'),
        'the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml',
        'the body of the request was in an unknown format - accepted media types include: application/json, application/yaml, application/vnd.kubernetes.protobuf',
      ],
    );
  });

  it('takes DeleteOptions from the body, or else from the query', async () => {
    const each = fixture();
    const header = { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/v1' };
    const seen: unknown[] = [];
    for (const [target, body] of [
      ['?gracePeriodSeconds=5&propagationPolicy=Orphan', undefined],
      ['?gracePeriodSeconds=5', { gracePeriodSeconds: 1, preconditions: { uid: 'u' } }],
      ['?orphanDependents=false&dryRun=All', undefined],
    ] as const) {
      await make(each, 'a');
      await send(each, 'DELETE', `${maps}/a${target}`, body === undefined ? {} : { headers: json, body });
      seen.push(last(each).options);
    }
    assert.deepEqual(seen, [
      { ...header, gracePeriodSeconds: 5, propagationPolicy: 'Orphan' },
      { ...header, gracePeriodSeconds: 1, preconditions: { uid: 'u' } },
      { ...header, orphanDependents: false, dryRun: ['All'] },
    ]);
    const wrong = [
      { propagationPolicy: 'Some' },
      { propagationPolicy: 'Orphan', orphanDependents: true },
      { gracePeriodSeconds: 'x' },
      { kind: 'Pod' },
      [],
    ];
    const statuses = [];
    for (const body of wrong) statuses.push((await send(each, 'DELETE', `${maps}/a`, { headers: json, body })).status);
    assert.deepEqual(statuses, [422, 422, 400, 400, 400]);
  });

  it('keeps to the limit of a body', async () => {
    const each = fixture({ limits: { maxBodyBytes: 1000 } });
    const reply = await send(each, 'POST', maps, {
      headers: json,
      body: { metadata: { name: 'a' }, data: { x: 'y'.repeat(1000) } },
    });
    assert.deepEqual([reply.status, messageOf(reply)], [413, 'Request entity too large: limit is 1000']);
  });
});

describe('forms of answers', () => {
  const table = (include = ''): { headers: { accept: string }; target: string } => ({
    headers: { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' },
    target: `/api/v1/namespaces/default/pods${include}`,
  });

  it('joins a list from the JSON of its items', async () => {
    const each = fixture();
    for (const name of ['a', 'b', 'c']) await make(each, name);
    const { body } = await send(each, 'GET', `${maps}?limit=2`);
    const items = body.items as { metadata: { name: string } }[];
    assert.deepEqual(
      [body.kind, body.apiVersion, body.metadata, items.map(({ metadata }) => metadata.name)],
      ['ConfigMapList', 'v1', { resourceVersion: '3', continue: '2', remainingItemCount: 1 }, ['a', 'b']],
    );
  });

  it('answers an empty list with no items rather than null', async () => {
    assert.deepEqual((await send(fixture(), 'GET', maps)).body.items, []);
  });

  it('makes tables with the object’s metadata, all of it or nothing', async () => {
    const each = fixture();
    await make(each, 'p', '/api/v1/namespaces/default/pods');
    const rows: unknown[] = [];
    for (const include of ['', '?includeObject=None', '?includeObject=Object']) {
      const { headers, target } = table(include);
      const { body } = await send(each, 'GET', target, { headers });
      const [row] = body.rows as { cells: unknown[]; object: { kind: string } | null }[];
      rows.push([row?.cells, row?.object === null ? null : row?.object.kind]);
    }
    const cells = ['p', '0/1', '<unknown>', '<none>'];
    assert.deepEqual(rows, [
      [cells, 'PartialObjectMetadata'],
      [cells, null],
      [cells, 'Pod'],
    ]);
    assert.equal(
      (await send(each, 'GET', table('?includeObject=Some').target, { headers: table().headers })).status,
      400,
    );
  });

  it('answers with metadata alone, YAML, or lines for people', async () => {
    const each = fixture();
    await make(each, 'a');
    const as = async (accept: string, query = ''): Promise<string> =>
      bodyText(await each.server.handle(fakeRequest('GET', `${maps}/a${query}`, { headers: { accept } })));
    const partial = JSON.parse(await as('application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io')) as Record<
      string,
      unknown
    >;
    assert.deepEqual(
      [partial.kind, partial.apiVersion, Object.keys(partial)],
      ['PartialObjectMetadata', 'meta.k8s.io/v1', ['kind', 'apiVersion', 'metadata']],
    );
    assert.match(await as('application/yaml'), /^apiVersion: v1\nkind: ConfigMap\nmetadata:\n {2}name: a\n/);
    assert.match(await as('*/*', '?pretty=true'), /^\{\n {2}"metadata"/);
  });

  it('chooses by quality and order, and refuses what it cannot write', async () => {
    const each = fixture();
    await make(each, 'a');
    const contentTypeFor = async (accept: string): Promise<unknown> => {
      const reply = await each.server.handle(fakeRequest('GET', `${maps}/a`, { headers: { accept } }));
      return reply.status === 200 ? headerOfReply(reply, 'content-type') : messageOf({ body: bodyJson(reply) });
    };
    const refused = 'only the following media types are accepted: application/json, application/yaml';
    assert.deepEqual(
      [
        await contentTypeFor('application/vnd.kubernetes.protobuf,application/json'),
        await contentTypeFor('application/yaml;q=0.5,application/json;q=0.9'),
        await contentTypeFor('text/html,*/*;q=0.1'),
        await contentTypeFor('application/vnd.kubernetes.protobuf'),
        await contentTypeFor('application/json;as=Foo;v=v1;g=meta.k8s.io'),
        await contentTypeFor('application/json;as=Table;v=v9;g=meta.k8s.io,application/json'),
        await contentTypeFor('application/json;q=0'),
        await contentTypeFor(''),
      ],
      [
        'application/json',
        'application/json',
        'application/json',
        refused,
        refused,
        'application/json',
        refused,
        'application/json',
      ],
    );
  });
});
