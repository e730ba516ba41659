import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { bodyJson, fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';
import { compareVersions } from '../../../api/compare-versions.ts';

const aggregatedAccept =
  'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json';

const get = async (path: string, headers: Record<string, string> = {}): Promise<ReturnType<typeof bodyJson>> =>
  bodyJson(await fixture().server.handle(fakeRequest('GET', path, { headers })));
const names = (items: unknown): readonly string[] => (items as { name: string }[]).map(({ name }) => name);

test('versions are preferred as in upstream: stable before beta before alpha, then higher versions, other names last', () => {
  const sorted = ['foo10', 'v11alpha2', 'v1', 'v10', 'foo1', 'v3beta1', 'v11beta2', 'v12alpha1', 'v2', 'v10beta3'];
  assert.deepEqual(sorted.sort(compareVersions), [
    'v10',
    'v2',
    'v1',
    'v11beta2',
    'v10beta3',
    'v3beta1',
    'v12alpha1',
    'v11alpha2',
    'foo1',
    'foo10',
  ]);
});

describe('discovery', () => {
  it('lists versions and groups', async () => {
    const core = await get('/api');
    const groups = await get('/apis');
    assert.deepEqual(
      [core.kind, core.versions, groups.kind, names(groups.groups)],
      ['APIVersions', ['v1'], 'APIGroupList', ['apps', 'authentication.k8s.io']],
    );
    assert.deepEqual(await get('/apis/apps'), {
      kind: 'APIGroup',
      apiVersion: 'v1',
      name: 'apps',
      versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
      preferredVersion: { groupVersion: 'apps/v1', version: 'v1' },
    });
  });

  it("describes resources and subresources, with the same hashes as upstream's servers", async () => {
    const list = await get('/api/v1');
    const resources = list.resources as { name: string }[];
    const named = (name: string): unknown => resources.find((each) => each.name === name);
    assert.deepEqual(named('pods'), {
      name: 'pods',
      singularName: 'pod',
      namespaced: true,
      kind: 'Pod',
      verbs: ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'update', 'watch'],
      shortNames: ['po'],
      categories: ['all'],
      storageVersionHash: 'xPOwRZ+Yhw8=',
    });
    assert.deepEqual(
      [named('pods/status'), named('pods/exec'), (await get('/apis/apps/v1')).resources].map((each) =>
        Array.isArray(each) ? (each as { name: string }[]).find(({ name }) => name === 'deployments/scale') : each,
      ),
      [
        { name: 'pods/status', singularName: '', namespaced: true, kind: 'Pod', verbs: ['get', 'patch', 'update'] },
        { name: 'pods/exec', singularName: '', namespaced: true, kind: 'PodExecOptions', verbs: ['create', 'get'] },
        {
          name: 'deployments/scale',
          singularName: '',
          namespaced: true,
          group: 'autoscaling',
          version: 'v1',
          kind: 'Scale',
          verbs: ['get', 'patch', 'update'],
        },
      ],
    );
    const reviews = ((await get('/apis/authentication.k8s.io/v1')).resources as object[])[0];
    assert.deepEqual(reviews, {
      name: 'tokenreviews',
      singularName: 'tokenreview',
      namespaced: false,
      kind: 'TokenReview',
      verbs: ['create'],
    });
  });

  it('serves aggregated discovery on request, with an ETag for conditional requests', async () => {
    const { server } = fixture();
    const ask = (path: string, headers: Record<string, string>): ReturnType<typeof server.handle> =>
      server.handle(fakeRequest('GET', path, { headers: { accept: aggregatedAccept, ...headers } }));
    const first = await ask('/apis', {});
    const etag = String(headerOfReply(first, 'etag'));
    const again = await ask('/apis', { 'if-none-match': etag });
    const body = bodyJson(first) as {
      kind: string;
      apiVersion: string;
      items: {
        metadata: { name: string };
        versions: {
          resources: { resource: string; subresources?: { subresource: string; responseKind: object }[] }[];
        }[];
      }[];
    };
    assert.deepEqual(
      [body.kind, body.apiVersion, body.items.map(({ metadata }) => metadata.name), again.status],
      ['APIGroupDiscoveryList', 'apidiscovery.k8s.io/v2', ['apps', 'authentication.k8s.io'], 304],
    );
    assert.deepEqual(body.items[0]?.versions[0]?.resources[0]?.subresources, [
      {
        subresource: 'scale',
        responseKind: { group: 'autoscaling', version: 'v1', kind: 'Scale' },
        verbs: ['get', 'patch', 'update'],
      },
      {
        subresource: 'status',
        responseKind: { group: '', version: '', kind: 'Deployment' },
        verbs: ['get', 'patch', 'update'],
      },
    ]);
    assert.match(etag, /^"[0-9A-F]{128}"$/);
    assert.equal(
      headerOfReply(first, 'content-type'),
      'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList',
    );
    assert.equal(
      bodyJson(await ask('/api', { accept: aggregatedAccept.replace(';v=v2;', ';v=v9;') })).apiVersion,
      'apidiscovery.k8s.io/v2beta1',
    );
    // Paths below the roots have only the plain form.
    assert.equal(bodyJson(await ask('/apis/apps', {})).kind, 'APIGroup');
  });
});
