import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { test } from 'node:test';
import { PodSchema } from '../../../api/core/pod.ts';
import type { Pod } from '../../../api/core/pod.ts';
import { decodeMessage } from '../../../api/protobuf/decode-protobuf.ts';
import { systemClock } from '../../../base/clock.ts';
import { KubeletError } from '../../../base/errors.ts';
import { createPodsClient } from '../../../devices/pods-server.ts';
import type { PodsApi } from '../../ports/pods-api.ts';
import { createPodsApiServer } from './pods-api-server.ts';

const pod = {
  metadata: { name: 'p', namespace: 'ns', uid: 'u' },
  spec: { containers: [{ name: 'c' }] },
} as unknown as Pod;

async function served(context: TestContext, more: Partial<PodsApi> = {}, monotonicMs = () => 0) {
  const folder = mkdtempSync(join(tmpdir(), 'kts-pods-api-'));
  context.after(() => rmSync(folder, { recursive: true, force: true }));
  const socketPath = join(folder, 'pods-api.sock');
  const server = await createPodsApiServer({ monotonicMs }).serve(socketPath, {
    list: () => [pod],
    get: () => pod,
    async *watch() {
      yield { type: 'ADDED', pod };
      yield { type: 'INITIAL_SYNC_COMPLETE' };
    },
    ...more,
  });
  context.after(() => server.close());
  const client = createPodsClient({ socketPath, clock: systemClock });
  context.after(() => client.close());
  return client;
}

const read = (bytes: Uint8Array | undefined): unknown => decodeMessage(bytes ?? new Uint8Array(), PodSchema);

test('pods are sent as messages of the API', async (context) => {
  const client = await served(context);
  assert.deepEqual((await client.listPods({})).pods.map(read), [pod]);
  assert.deepEqual(read((await client.getPod({ podUID: 'u' })).pod), pod);
  const events: unknown[] = [];
  for await (const { type, pod: bytes } of client.watchPods({})) events.push([type, read(bytes)]);
  assert.deepEqual(events, [
    [1, pod],
    [4, {}],
  ]);
});

test('a pod that does not exist is NotFound', async (context) => {
  const client = await served(context, {
    get: () => {
      throw new KubeletError('NotFound', 'pod with UID x not found');
    },
  });
  await assert.rejects(client.getPod({ podUID: 'x' }), {
    message: 'rpc error: code = NotFound desc = pod with UID x not found',
  });
});

test('no more than a hundred watches are open at the same time; those that have ended do not count', async (context) => {
  let nowMs = 0;
  const opened: AbortController[] = [];
  const client = await served(
    context,
    {
      async *watch(signal) {
        yield { type: 'INITIAL_SYNC_COMPLETE' };
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
      },
    },
    // Never above the rate.
    () => (nowMs += 1000),
  );
  const open = async (): Promise<AsyncIterator<unknown>> => {
    const end = new AbortController();
    opened.push(end);
    const events = client.watchPods({}, { signal: end.signal })[Symbol.asyncIterator]();
    await events.next();
    return events;
  };
  const watches = await Promise.all(Array.from({ length: 100 }, open));
  await assert.rejects(open(), /code = ResourceExhausted desc = there are 100 watches already/);
  opened[0]?.abort();
  await watches[0]?.next().catch(() => undefined);
  // The server is notified of the end a little later than the client.
  for (let tries = 0; tries < 1000; tries++) {
    const another = await open().catch(() => undefined);
    if (another !== undefined) break;
    assert.ok(tries < 999, 'the place of the watch that ended is not free');
  }
  for (const end of opened) end.abort();
});

test('requests above the rate, and readers that are too slow, are refused', async (context) => {
  const client = await served(context, {
    async *watch() {
      throw new KubeletError('Unavailable', 'the reader of the watch is too slow');
    },
  });
  await assert.rejects(async () => {
    for await (const event of client.watchPods({})) assert.fail(String(event.type));
  }, /code = ResourceExhausted desc = watch client channel closed/);
  for (let call = 0; call < 9; call++) await client.listPods({});
  await assert.rejects(client.listPods({}), /code = ResourceExhausted desc = rejected by rate limit/);
});
