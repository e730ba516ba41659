import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { errorKind, KubeletError } from '../base/errors.ts';
import type { ErrorKind } from '../base/errors.ts';
import type { ImageServiceApi, RuntimeServiceApi } from './cri-api.ts';
import { createCriClient } from './cri-client.ts';
import type { CriCallRecord, CriClient } from './cri-client.ts';
import { serveCri } from './testing/cri-server.ts';
import {
  ContainerEventType,
  ExecSyncResponse,
  ListContainersResponse,
  StreamContainersResponse,
  VersionResponse,
} from './generated/cri-v1.ts';
import { tempSocket } from './testing/temp-socket.ts';

interface Fixture {
  readonly client: CriClient;
  readonly records: CriCallRecord[];
  readonly endpoint: string;
}

interface Served {
  readonly runtime?: Partial<RuntimeServiceApi>;
  readonly images?: Partial<ImageServiceApi>;
  readonly requestTimeoutMs?: number;
}

async function serve(context: TestContext, served: Served): Promise<Fixture> {
  const endpoint = tempSocket(context);
  const server = await serveCri({ endpoint, runtime: served.runtime ?? {}, images: served.images ?? {} });
  const records: CriCallRecord[] = [];
  const client = createCriClient({
    endpoint,
    clock: systemClock,
    requestTimeoutMs: served.requestTimeoutMs ?? 5000,
    observe: (record) => records.push(record),
  });
  context.after(() => {
    client.close();
    server.close();
  });
  return { client, records, endpoint };
}

async function kindOf(action: Promise<unknown>): Promise<ErrorKind | 'none'> {
  try {
    await action;
    return 'none';
  } catch (error) {
    assert.ok(error instanceof KubeletError, String(error));
    return errorKind(error);
  }
}

/** A handler that never answers. Its promise settles when the server notices that the caller is gone. */
function heldUntilGone(): {
  api: (request: object, options?: { signal?: AbortSignal }) => Promise<never>;
  started: Promise<void>;
  gone: Promise<void>;
} {
  const started = Promise.withResolvers<void>();
  const gone = Promise.withResolvers<void>();
  return {
    started: started.promise,
    gone: gone.promise,
    api: (_request, options) =>
      new Promise((_resolve, reject) => {
        options?.signal?.addEventListener('abort', () => {
          gone.resolve();
          reject(new KubeletError('Aborted', 'gone'));
        });
        started.resolve();
      }),
  };
}

test('a call reaches the server with what was left out set to defaults, and its answer comes back', async (context) => {
  const seen: unknown[] = [];
  const { client, records } = await serve(context, {
    runtime: {
      version: async (request) => {
        seen.push(request);
        return VersionResponse.fromPartial({ version: '0.1.0', runtimeName: 'fake' });
      },
    },
  });
  const answer = await client.runtime.version({});
  assert.deepEqual(
    [answer, seen],
    [{ version: '0.1.0', runtimeName: 'fake', runtimeVersion: '', runtimeApiVersion: '' }, [{ version: '' }]],
  );
  assert.deepEqual(
    records.map(({ op, errorKind: kind }) => ({ op, kind })),
    [{ op: 'Version', kind: undefined }],
  );
});

test('each kind of failure keeps its kind and text and names the operation', async (context) => {
  const kinds: ErrorKind[] = ['NotFound', 'AlreadyExists', 'Conflict', 'Invalid', 'Unavailable', 'Timeout', 'Internal'];
  const { client, records } = await serve(context, {
    runtime: {
      removeContainer: async (request) => {
        throw new KubeletError(kinds.find((kind) => kind === request.containerId) ?? 'Aborted', 'because');
      },
    },
  });
  const heard: [string, string | undefined, boolean][] = [];
  for (const containerId of kinds) {
    await client.runtime
      .removeContainer({ containerId })
      .catch((error: KubeletError) => heard.push([error.kind, error.op, error.message.endsWith(' desc = because')]));
  }
  assert.deepEqual(
    heard,
    kinds.map((kind) => [kind, 'RemoveContainer', true]),
  );
  assert.deepEqual(
    records.map((record) => record.errorKind),
    kinds,
  );
});

test('a method the server lacks is unimplemented, for single answers and for streams', async (context) => {
  const { client } = await serve(context, {});
  const streamed = kindOf(Array.fromAsync(client.images.streamImages({})));
  assert.deepEqual(
    [await kindOf(client.runtime.runtimeConfig({})), await streamed],
    ['Unimplemented', 'Unimplemented'],
  );
});

test('a call that exceeds its deadline times out, and the server learns of it', async (context) => {
  const held = heldUntilGone();
  const { client } = await serve(context, { runtime: { startContainer: held.api }, requestTimeoutMs: 40 });
  assert.equal(await kindOf(client.runtime.startContainer({ containerId: 'a' })), 'Timeout');
  await held.gone;
});

test('a deadline of the call itself replaces the configured one', async (context) => {
  const { client } = await serve(context, { runtime: { startContainer: heldUntilGone().api } });
  assert.equal(await kindOf(client.runtime.startContainer({}, { timeoutMs: 30 })), 'Timeout');
});

test('aborting a call fails it as aborted, and the server learns of it', async (context) => {
  const held = heldUntilGone();
  const { client, records } = await serve(context, { images: { pullImage: held.api } });
  const controller = new AbortController();
  const pull = kindOf(client.images.pullImage({ image: { image: 'a' } }, { signal: controller.signal }));
  await held.started;
  controller.abort();
  assert.equal(await pull, 'Aborted');
  await held.gone;
  assert.deepEqual(
    records.map(({ op, errorKind: kind }) => ({ op, kind })),
    [{ op: 'PullImage', kind: 'Aborted' }],
  );
});

test('a call whose signal has aborted before is never made', async (context) => {
  let calls = 0;
  const { client } = await serve(context, {
    runtime: {
      status: async () => {
        calls++;
        throw new KubeletError('Internal', 'called');
      },
    },
  });
  const streamed = kindOf(Array.fromAsync(client.runtime.getContainerEvents({}, { signal: AbortSignal.abort() })));
  assert.deepEqual(
    [await kindOf(client.runtime.status({}, { signal: AbortSignal.abort() })), await streamed, calls],
    ['Aborted', 'Aborted', 0],
  );
});

test('closing the client aborts what is under way and refuses what comes later', async (context) => {
  const held = heldUntilGone();
  const { client } = await serve(context, { runtime: { stopPodSandbox: held.api } });
  const stop = kindOf(client.runtime.stopPodSandbox({ podSandboxId: 'a' }));
  await held.started;
  client.close();
  assert.deepEqual([await stop, await kindOf(client.runtime.version({}))], ['Aborted', 'Aborted']);
});

test('answers of 15 MB pass, above 16 MB they fail without ending the connection', async (context) => {
  const megabytes = (count: number): Uint8Array => new Uint8Array(count * 1024 * 1024);
  const { client } = await serve(context, {
    runtime: {
      execSync: async (request) => ExecSyncResponse.fromPartial({ stdout: megabytes(Number(request.timeout)) }),
    },
  });
  const small = await client.runtime.execSync({ timeout: 15 });
  assert.equal(small.stdout.length, 15 * 1024 * 1024);
  assert.equal(await kindOf(client.runtime.execSync({ timeout: 17 })), 'Internal');
  assert.equal((await client.runtime.execSync({ timeout: 1 })).stdout.length, 1024 * 1024);
});

test('requests above 16 MB are refused, of 15 MB accepted', async (context) => {
  const { client } = await serve(context, {
    runtime: {
      execSync: async (request) =>
        ExecSyncResponse.fromPartial({ stdout: Buffer.from(String(request.cmd?.[0]?.length)) }),
    },
  });
  const command = (count: number): { cmd: string[] } => ({ cmd: ['x'.repeat(count * 1024 * 1024)] });
  assert.equal(Buffer.from((await client.runtime.execSync(command(15))).stdout).toString(), String(15 * 1024 * 1024));
  assert.equal(await kindOf(client.runtime.execSync(command(17))), 'Internal');
});

test('a request that cannot be encoded is invalid and is not sent', async (context) => {
  const { client } = await serve(context, { runtime: {} });
  assert.equal(await kindOf(client.runtime.createContainer({ config: { metadata: { attempt: -1 } } })), 'Invalid');
});

test('without a server calls fail as unavailable at once, and work again when it is back', async (context) => {
  const endpoint = tempSocket(context);
  const client = createCriClient({ endpoint, clock: systemClock });
  context.after(() => client.close());
  const runtime: Partial<RuntimeServiceApi> = { listContainers: async () => ListContainersResponse.fromPartial({}) };
  const eventually = async (): Promise<void> => {
    const endMs = systemClock.monotonicMs() + 4000;
    while ((await kindOf(client.runtime.listContainers({}))) === 'Unavailable' && systemClock.monotonicMs() < endMs)
      await new Promise((resolve) => setTimeout(resolve, 10));
  };

  assert.equal(await kindOf(client.runtime.listContainers({})), 'Unavailable');
  const first = await serveCri({ endpoint, runtime, images: {} });
  await eventually();
  assert.equal(await kindOf(client.runtime.listContainers({})), 'none');
  first.close();
  assert.equal(await kindOf(client.runtime.listContainers({})), 'Unavailable');
  const second = await serveCri({ endpoint, runtime, images: {} });
  context.after(() => second.close());
  await eventually();
  assert.equal(await kindOf(client.runtime.listContainers({})), 'none');
});

test('a server that goes away during a call makes the call unavailable', async (context) => {
  const endpoint = tempSocket(context);
  const held = heldUntilGone();
  const server = await serveCri({ endpoint, runtime: { runPodSandbox: held.api }, images: {} });
  const client = createCriClient({ endpoint, clock: systemClock });
  context.after(() => client.close());
  const run = kindOf(client.runtime.runPodSandbox({}));
  await held.started;
  server.close();
  assert.equal(await run, 'Unavailable');
});

test('streamed pages arrive in order and the stream ends with the list', async (context) => {
  const { client, records } = await serve(context, {
    runtime: {
      async *streamContainers() {
        for (const id of ['a', 'b', 'c']) yield StreamContainersResponse.fromPartial({ containers: [{ id }] });
      },
    },
  });
  const pages = await Array.fromAsync(client.runtime.streamContainers({}));
  assert.deepEqual(
    [pages.flatMap((page) => page.containers.map((found) => found.id)), records.map((record) => record.op)],
    [['a', 'b', 'c'], ['StreamContainers']],
  );
});

test('a long event stream is not held up by a slow reader, and leaving the loop ends it on the server', async (context) => {
  const ended = Promise.withResolvers<void>();
  const { client } = await serve(context, {
    runtime: {
      async *getContainerEvents(_request, options) {
        try {
          for (let index = 0; options?.signal?.aborted !== true; index++) {
            yield {
              containerId: `${index}`,
              containerEventType: ContainerEventType.CONTAINER_STARTED_EVENT,
              createdAt: BigInt(index),
              podSandboxStatus: undefined,
              containersStatuses: [],
            };
          }
        } finally {
          ended.resolve();
        }
      },
    },
  });
  let expected = 0;
  for await (const event of client.runtime.getContainerEvents({})) {
    assert.equal(event.createdAt, BigInt(expected));
    if (++expected === 2000) break;
  }
  await ended.promise;
});

test('an event stream fails as unavailable when the server goes away', async (context) => {
  const endpoint = tempSocket(context);
  const server = await serveCri({
    endpoint,
    images: {},
    runtime: {
      async *getContainerEvents(_request, options) {
        yield {
          containerId: 'a',
          containerEventType: ContainerEventType.CONTAINER_CREATED_EVENT,
          createdAt: 1n,
          podSandboxStatus: undefined,
          containersStatuses: [],
        };
        await new Promise((resolve) => options?.signal?.addEventListener('abort', resolve));
      },
    },
  });
  const client = createCriClient({ endpoint, clock: systemClock });
  context.after(() => client.close());
  const seen: string[] = [];
  const reading = (async () => {
    for await (const event of client.runtime.getContainerEvents({})) {
      seen.push(event.containerId);
      server.close();
    }
  })();
  assert.deepEqual([await kindOf(reading), seen], ['Unavailable', ['a']]);
});
