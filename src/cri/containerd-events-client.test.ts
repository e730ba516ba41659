import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { TestContext } from 'node:test';
import { systemClock } from '../base/clock.ts';
import { isKind } from '../base/errors.ts';
import {
  CONTAINERD_SUBSCRIBE_PATH,
  decodeContainerdEvent,
  subscribeContainerdEvents,
  topicFilter,
} from './containerd-events-client.ts';
import type { ContainerdEvent } from './containerd-events-client.ts';
import { serveCri } from './testing/cri-server.ts';
import { serveRaw } from '../grpc/grpc-server.ts';
import type { RawHandler, RunningServer } from '../grpc/grpc-server.ts';
import { SubscribeRequest } from './generated/containerd-events.ts';
import { ImageCreate } from './generated/containerd-image-events.ts';
import { ContainerCreate, TaskDelete, TaskExit, TaskOOM, TaskStart } from './generated/containerd-task-events.ts';
import { Envelope } from './generated/containerd-types.ts';
import { GrpcChannel } from '../grpc/grpc-channel.ts';
import { tempSocket } from './testing/temp-socket.ts';

function envelope(topic: string, typeUrl: string, value: Uint8Array): Uint8Array {
  return Envelope.encode(
    Envelope.fromPartial({
      timestamp: { seconds: 10, nanos: 5_999_999 },
      namespace: 'k8s.io',
      topic,
      event: { typeUrl, value },
    }),
  ).finish();
}

const at = { timestampMs: 10_005, namespace: 'k8s.io' };

const decoded: readonly [string, Uint8Array, ContainerdEvent][] = [
  [
    'the start of a task',
    envelope('/tasks/start', 'containerd.events.TaskStart', TaskStart.encode({ containerId: 'c', pid: 7 }).finish()),
    { topic: '/tasks/start', ...at, containerId: 'c', pid: 7 },
  ],
  [
    'the exit of a container',
    envelope(
      '/tasks/exit',
      'containerd.events.TaskExit',
      TaskExit.encode({
        containerId: 'c',
        id: 'c',
        pid: 7,
        exitStatus: 137,
        exitedAt: { seconds: 9n, nanos: 1_000_000 },
      }).finish(),
    ),
    { topic: '/tasks/exit', ...at, containerId: 'c', pid: 7, exitStatus: 137, exitedAtMs: 9001 },
  ],
  [
    'the exit of an exec, which is not the exit of the container',
    envelope(
      '/tasks/exit',
      'containerd.events.TaskExit',
      TaskExit.encode({ containerId: 'c', id: 'e', pid: 8, exitStatus: 1, exitedAt: undefined }).finish(),
    ),
    { topic: '/tasks/exit', ...at, containerId: 'c', execId: 'e', pid: 8, exitStatus: 1 },
  ],
  [
    'a deleted task of an old shim, without an id',
    envelope(
      '/tasks/delete',
      'containerd.events.TaskDelete',
      TaskDelete.encode({ containerId: 'c', id: '', pid: 7, exitStatus: 0, exitedAt: undefined }).finish(),
    ),
    { topic: '/tasks/delete', ...at, containerId: 'c', pid: 7, exitStatus: 0 },
  ],
  [
    'an OOM under a prefixed type URL',
    envelope(
      '/tasks/oom',
      'types.googleapis.com/containerd.events.TaskOOM',
      TaskOOM.encode({ containerId: 'c' }).finish(),
    ),
    { topic: '/tasks/oom', ...at, containerId: 'c' },
  ],
  [
    'a created container',
    envelope(
      '/containers/create',
      'containerd.events.ContainerCreate',
      ContainerCreate.encode({ id: 'c', image: 'i' }).finish(),
    ),
    { topic: '/containers/create', ...at, containerId: 'c', image: 'i' },
  ],
  [
    'a created image',
    envelope(
      '/images/create',
      'containerd.services.images.v1.ImageCreate',
      ImageCreate.encode({ name: 'i', labels: { a: 'b' } }).finish(),
    ),
    { topic: '/images/create', ...at, image: 'i' },
  ],
  ['only the envelope of an unknown payload', envelope('/x', 'x.Y', new Uint8Array([255])), { topic: '/x', ...at }],
];

for (const [what, bytes, event] of decoded) {
  test(`decoding gives ${what}`, () => assert.deepEqual(decodeContainerdEvent(bytes), event));
}

test('bytes that are no event fail as internal', () => {
  assert.throws(
    () => decodeContainerdEvent(new Uint8Array([255, 255])),
    (error) => isKind(error, 'Internal'),
  );
});

test('a topic filter quotes its values and anchors the prefix', () => {
  assert.equal(topicFilter('k8s.io', '/tasks/'), 'namespace=="k8s.io",topic~="^/tasks/"');
});

async function serveEvents(
  context: TestContext,
  handle: RawHandler['handle'],
): Promise<{ channel: GrpcChannel; server: RunningServer }> {
  const endpoint = tempSocket(context);
  const server = await serveRaw(endpoint, [
    { path: CONTAINERD_SUBSCRIBE_PATH, op: 'Subscribe', responseStream: true, handle },
  ]);
  const channel = new GrpcChannel({ socketPath: endpoint, clock: systemClock });
  context.after(() => {
    channel.close();
    server.close();
  });
  return { channel, server };
}

const oneEvent = envelope('/tasks/oom', 'containerd.events.TaskOOM', TaskOOM.encode({ containerId: 'c' }).finish());

test('a subscription sends its filters, yields events, and ends quietly when aborted', async (context) => {
  const filters: string[][] = [];
  const { channel } = await serveEvents(context, async function* (request, signal) {
    filters.push(SubscribeRequest.decode(request).filters);
    yield oneEvent;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  const controller = new AbortController();
  const seen: ContainerdEvent[] = [];
  for await (const event of subscribeContainerdEvents(channel, {
    filters: ['topic=="/tasks/oom"'],
    signal: controller.signal,
  })) {
    seen.push(event);
    controller.abort();
  }
  assert.deepEqual([filters, seen.map((event) => event.containerId)], [[['topic=="/tasks/oom"']], ['c']]);
});

test('a subscription fails as unavailable when containerd ends it', async (context) => {
  const { channel } = await serveEvents(context, async function* () {
    yield oneEvent;
  });
  await assert.rejects(Array.fromAsync(subscribeContainerdEvents(channel)), (error) => isKind(error, 'Unavailable'));
});

test('a subscription fails as unavailable when containerd goes away', async (context) => {
  const { channel, server } = await serveEvents(context, async function* (_request, signal) {
    yield oneEvent;
    await new Promise((resolve) => signal.addEventListener('abort', resolve));
  });
  const reading = (async () => {
    for await (const _event of subscribeContainerdEvents(channel)) server.close();
  })();
  await assert.rejects(reading, (error) => isKind(error, 'Unavailable'));
});

test('a subscription fails as unimplemented when the runtime is not containerd', async (context) => {
  const endpoint = tempSocket(context);
  const server = await serveCri({ endpoint, runtime: {}, images: {} });
  const channel = new GrpcChannel({ socketPath: endpoint, clock: systemClock });
  context.after(() => {
    channel.close();
    server.close();
  });
  await assert.rejects(Array.fromAsync(subscribeContainerdEvents(channel)), (error) => isKind(error, 'Unimplemented'));
});
