import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorKind } from '../base/errors.ts';
import { KubeletError } from '../base/errors.ts';
import { recordingLog } from '../base/testing/recording-log.ts';
import type { ImageServiceApi, RuntimeServiceApi } from './cri-api.ts';
import { streamImageLists, streamRuntimeLists } from './streamed-lists.ts';

type Page = readonly string[] | ErrorKind;

/** A runtime that streams the given pages. An error kind among the pages ends the stream with that error. */
function createRuntime(...pages: readonly Page[]) {
  const calls: string[] = [];
  const stream = (op: string, field: string) =>
    async function* (request: object): AsyncGenerator<object> {
      calls.push(`${op} ${JSON.stringify(request)}`);
      for (const page of pages) {
        if (typeof page === 'string') throw new KubeletError(page, 'from the runtime');
        yield { [field]: page.map((id) => ({ id })) };
      }
    };
  const list = (op: string, field: string) => async (request: object) => {
    calls.push(`${op} ${JSON.stringify(request)}`);
    return { [field]: [{ id: 'whole' }] };
  };
  const api = {
    streamPodSandboxes: stream('StreamPodSandboxes', 'podSandboxes'),
    streamContainers: stream('StreamContainers', 'containers'),
    streamContainerStats: stream('StreamContainerStats', 'containerStats'),
    streamImages: stream('StreamImages', 'images'),
    listPodSandbox: list('ListPodSandbox', 'items'),
    listContainers: list('ListContainers', 'containers'),
    listContainerStats: list('ListContainerStats', 'stats'),
    listImages: list('ListImages', 'images'),
  };
  const log = recordingLog();
  const runtime = streamRuntimeLists(api as unknown as RuntimeServiceApi, log);
  const images = streamImageLists(api as unknown as ImageServiceApi, log);
  return { runtime, images, calls, lines: log.lines };
}

const ids = (items: readonly object[]): unknown[] => items.map((item) => (item as { id?: string }).id);

describe('a list that comes in pages', () => {
  it('is the pages joined, for every list of the agent', async () => {
    const { runtime, images, calls } = createRuntime(['a', 'b'], ['c'], []);
    const expected = ['a', 'b', 'c'];
    assert.deepEqual(ids((await runtime.listPodSandbox({ filter: { id: 'x' } })).items), expected);
    assert.deepEqual(ids((await runtime.listContainers({})).containers), expected);
    assert.deepEqual(ids((await runtime.listContainerStats({})).stats), expected);
    assert.deepEqual(ids((await images.listImages({})).images), expected);
    assert.deepEqual(calls, [
      'StreamPodSandboxes {"filter":{"id":"x"}}',
      'StreamContainers {}',
      'StreamContainerStats {}',
      'StreamImages {}',
    ]);
  });

  it('is one message from the first call on that the runtime does not implement, and only for that list', async () => {
    const { runtime, calls } = createRuntime('Unimplemented');
    for (const _ of [1, 2]) assert.deepEqual(ids((await runtime.listContainers({})).containers), ['whole']);
    await runtime.listPodSandbox({});
    assert.deepEqual(calls, [
      'StreamContainers {}',
      'ListContainers {}',
      'ListContainers {}',
      'StreamPodSandboxes {}',
      'ListPodSandbox {}',
    ]);
  });

  it('is no list if the stream breaks, and the next call streams again', async () => {
    for (const kind of ['Internal', 'Timeout', 'Unavailable'] as const) {
      const { runtime, calls, lines } = createRuntime(['a'], kind);
      for (const _ of [1, 2]) await assert.rejects(runtime.listContainers({}), { kind });
      assert.deepEqual(calls, ['StreamContainers {}', 'StreamContainers {}']);
      assert.match(JSON.stringify(lines), /StreamContainers recv failed.*"itemsReceived":1/);
    }
  });

  it('fails without a log line when the caller cancels it', async () => {
    const { runtime, lines } = createRuntime('Aborted');
    await assert.rejects(runtime.listContainers({}), { kind: 'Aborted' });
    assert.deepEqual(lines, []);
  });

  it('fails when the runtime does not stop sending', async () => {
    const many = Array.from({ length: 60_000 }, (_, at) => `c${at}`);
    const { runtime } = createRuntime(many, many);
    await assert.rejects(runtime.listContainers({}), { kind: 'Internal', message: /more than 100000 items/ });
  });
});
