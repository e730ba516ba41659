import assert from 'node:assert/strict';
import test from 'node:test';
import { bodyJson, fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';

test('every answer about a deprecated kind warns, and no other', async () => {
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

test('there is an empty list of custom resource definitions, and nothing else of them', async () => {
  const { server } = fixture();
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const listed = bodyJson(await server.handle(fakeRequest('GET', path)));
  assert.deepEqual([listed.kind, listed.items], ['CustomResourceDefinitionList', []]);
  const others: [string, string][] = [
    ['GET', `${path}/a`],
    ['GET', `${path}?watch=1`],
    ['POST', path],
    ['DELETE', path],
    ['GET', '/apis/apiextensions.k8s.io/v1'],
    ['GET', '/apis/apiextensions.k8s.io/v1/others'],
  ];
  assert.deepEqual(
    await Promise.all(
      others.map(async ([method, target]) => (await server.handle(fakeRequest(method, target))).status),
    ),
    others.map(() => 404),
  );
});
