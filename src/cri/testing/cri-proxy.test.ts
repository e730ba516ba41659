import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../../base/clock.ts';
import { errorKind } from '../../base/errors.ts';
import { createCriClient } from '../cri-client.ts';
import type { CriClient } from '../cri-client.ts';
import { serveCri } from './cri-server.ts';
import { ContainerEventResponse, StartContainerResponse } from '../generated/cri-v1.ts';
import { CriProxy } from './cri-proxy.ts';
import { tempSocket } from './temp-socket.ts';

interface Fixture {
  readonly client: CriClient;
  readonly proxy: CriProxy;
  /** The ids of the containers that the runtime started. */
  readonly started: string[];
  /** Resolves with the first id of `started`. */
  readonly firstStart: Promise<void>;
}

async function behindProxy(context: TestContext): Promise<Fixture> {
  const upstream = tempSocket(context);
  const listen = tempSocket(context);
  const started: string[] = [];
  const firstStart = Promise.withResolvers<void>();
  const server = await serveCri({
    endpoint: upstream,
    images: {},
    runtime: {
      startContainer: async (request) => {
        started.push(request.containerId ?? '');
        firstStart.resolve();
        return StartContainerResponse.fromPartial({});
      },
      async *getContainerEvents() {
        for (const containerId of ['a', 'b']) yield ContainerEventResponse.fromPartial({ containerId });
      },
    },
  });
  const proxy = new CriProxy({ listen, upstream, clock: systemClock });
  await proxy.start();
  const client = createCriClient({ endpoint: listen, clock: systemClock, requestTimeoutMs: 2000 });
  context.after(() => {
    client.close();
    proxy.close();
    server.close();
  });
  return { client, proxy, started, firstStart: firstStart.promise };
}

async function start({ client }: Fixture, containerId: string, timeoutMs?: number): Promise<string> {
  try {
    await client.runtime.startContainer({ containerId }, timeoutMs === undefined ? {} : { timeoutMs });
    return 'ok';
  } catch (error) {
    return errorKind(error);
  }
}

test('without failpoints calls and streams pass through', async (context) => {
  const fixture = await behindProxy(context);
  const events = await Array.fromAsync(fixture.client.runtime.getContainerEvents({}));
  assert.deepEqual(
    [await start(fixture, 'a'), fixture.started, events.map((event) => event.containerId)],
    ['ok', ['a'], ['a', 'b']],
  );
  assert.deepEqual(fixture.proxy.counts('StartContainer'), { received: 1, forwarded: 1, held: 0 });
});

test('an error is returned without the call being made', async (context) => {
  const fixture = await behindProxy(context);
  fixture.proxy.set('StartContainer', '1*error(Unavailable: down)');
  assert.deepEqual(
    [await start(fixture, 'a'), await start(fixture, 'b'), fixture.started],
    ['Unavailable', 'ok', ['b']],
  );
});

test('a hung call is never made and its deadline ends it', async (context) => {
  const fixture = await behindProxy(context);
  fixture.proxy.set('StartContainer', '1*hang');
  assert.deepEqual([await start(fixture, 'a', 40), fixture.started], ['Timeout', []]);
});

test('a late call is made, although its caller has timed out', async (context) => {
  const fixture = await behindProxy(context);
  fixture.proxy.set('StartContainer', 'late');
  let isMade = false;
  void fixture.firstStart.then(() => (isMade = true));
  // On a busy machine a call may time out before it reaches the proxy. Then it is never made.
  do assert.equal(await start(fixture, 'a', 60), 'Timeout');
  while (!isMade);
  assert.equal(fixture.started[0], 'a');
});

test('a late call with a wait still succeeds for a patient caller, and so does a delayed one', async (context) => {
  const fixture = await behindProxy(context);
  fixture.proxy.set('StartContainer', '1*late(10)->1*delay(10)');
  assert.deepEqual([await start(fixture, 'a'), await start(fixture, 'b'), fixture.started], ['ok', 'ok', ['a', 'b']]);
});

test('a lost answer hides a success', async (context) => {
  const fixture = await behindProxy(context);
  fixture.proxy.set('StartContainer', '1*lost');
  assert.deepEqual([await start(fixture, 'a'), fixture.started], ['Unavailable', ['a']]);
});

test('a failpoint can be limited to requests that contain a text', async (context) => {
  const fixture = await behindProxy(context);
  fixture.proxy.set('StartContainer', '1*error', { requestContains: 'bad' });
  assert.deepEqual(
    [await start(fixture, 'good'), await start(fixture, 'bad-1'), await start(fixture, 'bad-1')],
    ['ok', 'Internal', 'ok'],
  );
});

test('failures of the real runtime keep their code', async (context) => {
  const { client } = await behindProxy(context);
  await assert.rejects(client.runtime.version({}), {
    kind: 'Unimplemented',
    message: 'rpc error: code = Unimplemented desc = method Version not implemented',
  });
});

test('a stopped proxy is a runtime that is down, until it is started again', async (context) => {
  const fixture = await behindProxy(context);
  fixture.proxy.stop();
  assert.equal(await start(fixture, 'a'), 'Unavailable');
  await fixture.proxy.start();
  const endMs = systemClock.monotonicMs() + 4000;
  let outcome = await start(fixture, 'b');
  while (outcome === 'Unavailable' && systemClock.monotonicMs() < endMs) outcome = await start(fixture, 'b');
  assert.equal(outcome, 'ok');
});
