import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KubeletError, errorKind } from '../../../base/errors.ts';
import type { RuntimeServiceApi } from '../../../cri/cri-api.ts';
import { ContainerEventResponse } from '../../../cri/generated/cri-v1.ts';
import type { RuntimeEvent } from '../../ports/runtime.ts';
import { criEventSource, eventFromContainerd } from './cri-events.ts';

const containerd = (
  topic: string,
  more: Partial<Parameters<typeof eventFromContainerd>[0]> = {},
): RuntimeEvent | undefined =>
  eventFromContainerd({ topic, timestampMs: 7, namespace: 'k8s.io', containerId: 'c', ...more });

test("containerd's topics say what happened to a container; execs and images say nothing", () => {
  assert.deepEqual(
    [
      '/containers/create',
      '/tasks/start',
      '/tasks/exit',
      '/tasks/delete',
      '/tasks/oom',
      '/containers/delete',
      '/tasks/paused',
      '/images/create',
    ].map((topic) => containerd(topic)?.kind),
    ['created', 'started', 'stopped', 'stopped', 'changed', 'deleted', undefined, undefined],
  );
  assert.equal(containerd('/tasks/exit', { execId: 'probe' }), undefined);
});

test('an exit contains its code and its time', () => {
  assert.deepEqual(containerd('/tasks/exit', { exitStatus: 0, exitedAtMs: 5 }), {
    kind: 'stopped',
    id: 'c',
    atMs: 5,
    exit: { exitCode: 0, finishedAtMs: 5 },
  });
  assert.equal(containerd('/tasks/exit', { exitStatus: 1, exitedAtMs: 0 })?.exit, undefined, 'no time, no record');
});

/** A CRI service that has only the two calls of an event stream. */
function service(getContainerEvents: RuntimeServiceApi['getContainerEvents']): RuntimeServiceApi {
  const version = (): Promise<unknown> => Promise.resolve({});
  return { version, getContainerEvents } as unknown as RuntimeServiceApi;
}

test('a stream is open once the runtime has responded without an error, and ends without an error by its signal', async () => {
  const controller = new AbortController();
  const seen: string[] = [];
  async function* stream(
    _request: unknown,
    options?: { signal?: AbortSignal },
  ): AsyncGenerator<ContainerEventResponse> {
    yield ContainerEventResponse.fromPartial({ containerId: 'c', containerEventType: 2 });
    await new Promise((_resolve, reject) =>
      options?.signal?.addEventListener('abort', () => reject(new KubeletError('Aborted', 'cancelled'))),
    );
  }
  const source = criEventSource(service(stream));
  const ended = source.subscribe(
    { onOpen: () => seen.push('open'), onEvent: (event) => seen.push(event.kind) },
    controller.signal,
  );
  await new Promise((resolve) => setImmediate(resolve));
  controller.abort();
  await ended;
  assert.deepEqual(seen, ['open', 'stopped']);
});

test('a runtime without events is Unimplemented and never open; one that ends the stream is Unavailable', async () => {
  const cases: [() => AsyncIterable<ContainerEventResponse>, string][] = [
    [
      async function* () {
        throw new KubeletError('Unimplemented', 'no');
      },
      'Unimplemented',
    ],
    [
      async function* () {
        /* ends at once */
      },
      'Unavailable',
    ],
  ];
  for (const [stream, kind] of cases) {
    let open = false;
    const ended = criEventSource(service(stream)).subscribe(
      { onOpen: () => void (open = true), onEvent: () => undefined },
      new AbortController().signal,
    );
    await assert.rejects(ended, (error) => errorKind(error) === kind);
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(open, false);
  }
});
