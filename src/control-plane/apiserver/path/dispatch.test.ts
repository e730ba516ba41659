import assert from 'node:assert/strict';
import test from 'node:test';
import { fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';

test('every response about a deprecated kind has a warning, and no other has', async () => {
  const { server } = fixture();
  const warning = async (target: string): Promise<unknown> =>
    headerOfReply(await server.handle(fakeRequest('GET', target)), 'warning');
  const said = '299 - "v1 Endpoints is old; use something else"';
  assert.deepEqual(
    [
      await warning('/api/v1/namespaces/a/endpoints'),
      await warning('/api/v1/namespaces/a/endpoints/x'),
      await warning('/api/v1/namespaces/a/pods'),
    ].map(String),
    [said, said, 'undefined'],
  );
});

test('the old proxy path serves nothing, so permission to proxy gives no access through it', async () => {
  const { server, registry } = fixture({
    authorizer: {
      name: 'proxy-only',
      authorize: ({ verb }) => ({ decision: verb === 'proxy' ? 'allow' : 'noOpinion', reason: '' }),
    },
  });
  const targets = [
    '/api/v1/proxy/namespaces/default/secrets/s',
    '/api/v1/proxy/nodes/n',
    '/api/v1/proxy/namespaces/default/pods',
    '/api/v1/proxy/namespaces/default/pods/p/log',
    '/apis/apps/v1/proxy/namespaces/default/deployments/d',
  ];
  for (const target of targets)
    for (const method of ['GET', 'DELETE', 'PUT', 'POST'])
      assert.deepEqual(
        [
          (await server.handle(fakeRequest(method, target, { body: { metadata: { name: 'x' } } }))).status,
          registry.calls.length,
        ],
        [404, 0],
        `${method} ${target}`,
      );
});

test('an ambiguous path is rejected before authorization', async () => {
  const asked: string[] = [];
  const { server } = fixture({
    authorizer: { name: 'all', authorize: ({ path }) => (asked.push(path), { decision: 'allow', reason: '' }) },
  });
  const status = async (target: string): Promise<number> => (await server.handle(fakeRequest('GET', target))).status;
  const pods = '/api/v1/namespaces/default/pods';
  for (const target of [
    '//api/v1/pods',
    '/api//v1/pods',
    '/api/v1/namespaces//pods',
    `${pods}//`,
    `${pods}/a%2fexec`,
    `${pods}/..`,
    `${pods}/%2e%2e`,
    `${pods}/./x`,
    `${pods}/a%00`,
    `${pods}/a%0ab`,
    '/healthz%2fping',
    `${pods}/a%2fproxy/proxy/x`,
    '/api/v1/nodes/n%2fproxy%2fexec/proxy/healthz',
  ])
    assert.equal(await status(target), 400, target);
  assert.deepEqual(asked, []);
  assert.deepEqual(
    [await status(pods), await status(`${pods}/`), await status(`${pods}/%61`), await status('/%61pi/v1')],
    [200, 200, 404, 200],
  );
});
