import assert from 'node:assert/strict';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { getCauses, getPods, watchPods } from './agent-client.ts';

/** An agent that answers as `answer` does. Returns its socket. */
async function serve(t: TestContext, answer: (path: string, response: ServerResponse) => void): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'agent-client-'));
  const socketPath = join(folder, 'kubelet.sock');
  const server = createServer((request, response) => answer(request.url ?? '', response)).listen(socketPath);
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  return socketPath;
}

it('a watch tells of its beginning and of each change, and ends with the connection or by its signal', async (t) => {
  const responses: ServerResponse[] = [];
  const socketPath = await serve(t, (path, response) => {
    assert.equal(path, '/api/watch');
    responses.push(response);
    response.flushHeaders();
  });
  let changes = 0;
  let wake: () => void = () => undefined;
  const changed = (): Promise<void> => new Promise((resolve) => (wake = resolve));
  const watch = (signal: AbortSignal): Promise<void> => watchPods(socketPath, () => (changes++, wake()), signal);
  const begun = changed();
  const first = watch(new AbortController().signal);
  await begun;
  assert.equal(changes, 1, 'what changed before it is not missed');
  const second = changed();
  responses[0]?.write('x');
  await second;
  responses[0]?.destroy();
  await first;
  assert.equal(changes, 2);
  const stop = new AbortController();
  const again = changed();
  const aborted = watch(stop.signal);
  await again;
  stop.abort();
  await aborted;
  await watchPods(`${socketPath}.none`, () => assert.fail('there is no agent'), stop.signal);
});

it('an agent without pods has none, and one that cannot say why they wait gives no causes', async (t) => {
  const socketPath = await serve(t, (path, response) => {
    if (path === '/explain') response.statusCode = 500;
    response.end(path === '/pods' ? '{"items":null}' : '"no"');
  });
  assert.deepEqual([await getPods(socketPath), await getCauses(socketPath)], [[], []]);
  const other = await serve(t, (_path, response) => response.end('{"not":"a list"}'));
  assert.deepEqual(await getCauses(other), []);
});
