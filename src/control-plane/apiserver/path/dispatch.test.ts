import assert from 'node:assert/strict';
import test from 'node:test';
import { fakeRequest, headerOfReply } from '../testing/fake-request.ts';
import { fixture } from '../testing/fixtures.ts';

test('every answer about a deprecated kind warns, and no other', async () => {
  const { server } = fixture();
  const warning = async (target: string): Promise<unknown> => headerOfReply(await server.handle(fakeRequest('GET', target)), 'warning');
  const said = '299 - "v1 Endpoints is old; use something else"';
  assert.deepEqual([await warning('/api/v1/namespaces/a/endpoints'), await warning('/api/v1/namespaces/a/endpoints/x'), await warning('/api/v1/namespaces/a/pods')].map(String), [said, said, 'undefined']);
});
