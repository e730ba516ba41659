import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { after, before, describe, it } from 'node:test';
import type { ErrorKind } from '../../../base/errors.ts';
import { isKind } from '../../../base/errors.ts';
import { ApiClient, findSocket } from './api-client.ts';

const folder = mkdtempSync('/tmp/api-client-');
const socket = `${folder}/s`;
const server = http.createServer((request, response) => {
  let body = '';
  request.on('data', (chunk) => (body += String(chunk)));
  request.on('end', () => {
    const [, what = ''] = request.url?.split('/') ?? [];
    if (/^\d+$/.test(what)) return response.writeHead(Number(what)).end('in its own words\n');
    if (what === 'breaks') {
      response.write('{"a":');
      return setImmediate(() => response.destroy());
    }
    return response.end(JSON.stringify([request.method, body]));
  });
});
before(() => new Promise<void>((resolve) => void server.listen(socket, resolve)));
after(() => {
  server.close();
  rmSync(folder, { recursive: true });
});
const rejects = (work: Promise<unknown>, kind: ErrorKind, needle: RegExp) =>
  assert.rejects(work, (error) => isKind(error, kind) && needle.test((error as Error).message));

describe('talking to the agent', () => {
  const client = new ApiClient(socket);

  it('asks with GET, or POST with a body', async () => {
    assert.deepEqual(await client.json('/pods'), ['GET', '']);
    assert.deepEqual(await client.json('/plan', 'kind: Pod'), ['POST', 'kind: Pod']);
    assert.deepEqual(await client.json('/exec', { a: 1 }), ['POST', '{"a":1}']);
  });

  it("hands the agent's refusal through in its own words", async () => {
    for (const [status, kind] of [
      [404, 'NotFound'],
      [400, 'Invalid'],
      [500, 'Unavailable'],
      [503, 'Unavailable'],
    ] as const)
      await rejects(client.json(`/${status}`), kind, /^in its own words$/);
  });

  it('says in one line that an answer ended early, or that no agent is there', async () => {
    await rejects(client.json('/breaks'), 'Unavailable', /ended early/);
    await rejects(
      new ApiClient(`${folder}/none`).json('/pods'),
      'Unavailable',
      /no agent answers at .*none; start one/,
    );
  });

  it('finds the socket: from the flag, else from the environment, else the usual place', () => {
    assert.equal(findSocket('/a', { KUBELET_SOCKET: '/b' }), '/a');
    assert.equal(findSocket(undefined, { KUBELET_SOCKET: '/b' }), '/b');
    assert.match(findSocket(undefined, { KUBELET_SOCKET: '' }), /kubelet\.sock$/);
  });
});
