import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { fixedDefinitions } from '../../model/definitions.ts';
import { ApiStatusError } from '../../../api/status/api-status-error.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import { fakeRequest } from '../testing/fake-request.ts';
import { FakeStream } from '../testing/fake-stream.ts';
import { definition, fixture } from '../testing/fixtures.ts';
import type { Fixture } from '../testing/fixtures.ts';
import { FlushScheduler } from './flush-scheduler.ts';
import { FrameCache } from './frame-cache.ts';

const maps = '/api/v1/namespaces/default/configmaps';

async function watch(
  { server }: Fixture,
  query = '',
  { accept = 'application/json', room = Number.POSITIVE_INFINITY } = {},
): Promise<{ stream: FakeStream; leave: () => void }> {
  const request = fakeRequest('GET', `${maps}?watch=1${query}`, { headers: { accept } });
  const reply = await server.handle(request);
  if (reply.kind !== 'stream') throw new Error(`${reply.status} ${JSON.stringify(reply)}`);
  const stream = new FakeStream(room);
  reply.start(stream);
  stream.onClose(() => request.finish());
  return { stream, leave: () => request.finish() };
}

const make = (each: Fixture, name: string, data = 'x'): Promise<unknown> =>
  each.server.handle(fakeRequest('POST', maps, { body: { metadata: { name }, data: { data } } }));
const names = (stream: FakeStream): readonly string[] =>
  stream.events.map(
    ({ type, object }) => `${type} ${String((object as { metadata?: { name?: string } }).metadata?.name)}`,
  );

describe('a watch', () => {
  it('without a version begins with the existing objects, then sends changes', async () => {
    const each = fixture();
    await make(each, 'a');
    const { stream } = await watch(each);
    await make(each, 'b');
    await each.server.handle(fakeRequest('DELETE', `${maps}/a`));
    await each.clock.settle();
    assert.deepEqual(names(stream), ['ADDED a', 'ADDED b', 'DELETED a']);
  });

  it('sends bookmarks only on request, the first with the annotation for the end of the initial events', async () => {
    const each = fixture();
    await make(each, 'a');
    const quiet = await watch(each, '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan');
    const watched = await watch(
      each,
      '&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true',
    );
    await each.clock.settle();
    const [, bookmark] = watched.stream.events;
    assert.deepEqual(
      [names(quiet.stream), bookmark],
      [
        ['ADDED a'],
        {
          type: 'BOOKMARK',
          object: {
            kind: 'ConfigMap',
            apiVersion: 'v1',
            metadata: {
              resourceVersion: '1',
              creationTimestamp: null,
              annotations: { 'k8s.io/initial-events-end': 'true' },
            },
          },
        },
      ],
    );
  });

  it('ends after the requested timeout, or after a random time of at least half an hour', async () => {
    const each = fixture();
    const short = await watch(each, '&timeoutSeconds=5');
    const long = await watch(each);
    await each.clock.advance(5000);
    assert.equal(short.stream.state, 'ended');
    await each.clock.advance(1_790_000);
    assert.equal(long.stream.state, 'open');
    await each.clock.advance(1_810_000);
    assert.deepEqual([long.stream.state, each.registry.watcherCount, each.clock.armedTimers], ['ended', 0, 0]);
  });

  it('lets go of the registry when the client leaves', async () => {
    const each = fixture();
    const { leave } = await watch(each);
    assert.equal(each.registry.watcherCount, 1);
    leave();
    assert.deepEqual([each.registry.watcherCount, each.clock.armedTimers], [0, 0]);
  });

  it('tells why it ends before it ends', async () => {
    const each = fixture();
    const { stream } = await watch(each);
    each.registry.expireWatches();
    await each.clock.settle();
    assert.deepEqual(
      [stream.events.at(-1)?.type, stream.events.at(-1)?.object.code, stream.state],
      ['ERROR', 410, 'ended'],
    );
  });

  it('tells why it ends even if it could not begin, and fails only if it may not', async () => {
    const each = fixture();
    each.registry.failNext = new ApiStatusError('Expired', 'too old resource version: 1 (2)');
    const { stream } = await watch(each);
    await each.clock.settle();
    assert.deepEqual(
      [stream.events.map(({ type, object }) => [type, object.code, object.reason]), stream.state],
      [[['ERROR', 410, 'Expired']], 'ended'],
    );
    assert.equal(each.clock.armedTimers, 0);
    each.registry.failNext = new ApiStatusError('BadRequest', 'no');
    assert.equal((await each.server.handle(fakeRequest('GET', `${maps}?watch=1`))).status, 400);
  });

  it('ends when the server stops, and new watches are refused', async () => {
    const each = fixture();
    const { stream } = await watch(each);
    await each.server.stop();
    const late = await watch(each);
    await each.clock.settle();
    assert.deepEqual([stream.state, late.stream.state], ['ended', 'ended']);
  });

  it('ends the watch of a peer that does not read, after telling it, and cuts it when it does not read that either', async () => {
    const each = fixture({ limits: { watchBufferBytes: 10_000 } });
    const { stream } = await watch(each, '', { room: 1 });
    const reader = await watch(each);
    for (let index = 0; index < 8; index++) await make(each, `m${index}`, 'y'.repeat(2000));
    await each.clock.settle();
    assert.deepEqual([stream.state, stream.events.length < 3, reader.stream.events.length], ['open', true, 8]);
    await each.clock.advance(10_000);
    assert.deepEqual([stream.state, each.registry.watcherCount], ['destroyed', 1]);
  });

  it('goes on where it was when a slow peer reads again', async () => {
    const each = fixture();
    const { stream } = await watch(each, '', { room: 1 });
    for (const name of ['a', 'b', 'c']) await make(each, name);
    await each.clock.settle();
    const before = names(stream).length;
    stream.read(Number.POSITIVE_INFINITY);
    await each.clock.settle();
    assert.deepEqual([before < 3, names(stream)], [true, ['ADDED a', 'ADDED b', 'ADDED c']]);
  });

  it('says the columns of a table once', async () => {
    const each = fixture();
    const { stream } = await watch(each, '', { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' });
    await make(each, 'a');
    await make(each, 'b');
    await each.clock.settle();
    const tables = stream.events.map(
      ({ object }) =>
        object as {
          kind: string;
          columnDefinitions: unknown[] | null;
          rows: { cells: unknown[]; object: { kind: string } }[];
        },
    );
    assert.deepEqual(
      tables.map(({ kind, columnDefinitions, rows }) => [
        kind,
        columnDefinitions?.length,
        rows[0]?.cells[0],
        rows[0]?.object.kind,
      ]),
      [
        ['Table', 2, 'a', 'PartialObjectMetadata'],
        ['Table', undefined, 'b', 'PartialObjectMetadata'],
      ],
    );
  });

  it('writes an event once for all watches of the same form', async () => {
    const each = fixture();
    const watches = await Promise.all(Array.from({ length: 20 }, () => watch(each, '&resourceVersion=1')));
    await make(each, 'a');
    await each.clock.settle();
    assert.deepEqual([...new Set(watches.map(({ stream }) => stream.text))].length, 1);
  });

  it('of one object by its path selects that name, whatever signs are in it', async () => {
    const each = fixture();
    await each.server.handle(fakeRequest('GET', '/api/v1/watch/namespaces/default/configmaps/a,metadata.namespace!=b'));
    assert.equal(
      (each.registry.calls.at(-1)?.options as { fieldSelector?: string }).fieldSelector,
      'metadata.name=a\\,metadata.namespace!\\=b',
    );
  });

  it('ends with an error after the earlier events if an event cannot be written; other watches get all events', async () => {
    const broken = (object: { metadata: { name: string } }): string => {
      if (object.metadata.name === 'bad') throw new TypeError('a cell fell over');
      return 'fine';
    };
    const log = recordingLog();
    const each = fixture({
      log,
      definitions: fixedDefinitions([
        definition('ConfigMap', 'configmaps', {
          columns: [{ name: 'Fine', type: 'string', description: 'Whether it is.', cell: broken }],
        }),
      ]),
    });
    const accept = 'application/json;as=Table;g=meta.k8s.io;v=v1';
    const [table, early, plain] = [
      await watch(each, '', { accept }),
      await watch(each, '', { accept }),
      await watch(each),
    ];
    for (const name of ['a', 'bad', 'c']) await make(each, name);
    await each.clock.settle();
    for (const { stream } of [table, early]) {
      assert.deepEqual(
        [
          stream.events.map(({ type }) => type),
          stream.events.at(-1)?.object['code'],
          stream.events.at(-1)?.object['message'],
          stream.state,
        ],
        [['ADDED', 'ERROR'], 500, 'Internal error occurred: a cell fell over', 'ended'],
      );
    }
    assert.deepEqual(names(plain.stream), ['ADDED a', 'ADDED bad', 'ADDED c']);
    assert.equal(log.lines.filter(({ level }) => level === 'error').length, 2);
  });

  it('whose connection falls over is cut, and the others of its round are sent to', async () => {
    const each = fixture();
    const [first, second] = [await watch(each), await watch(each)];
    first.stream.write = () => {
      throw new Error('write after end');
    };
    await make(each, 'a');
    await each.clock.settle();
    assert.deepEqual([first.stream.state, names(second.stream)], ['destroyed', ['ADDED a']]);
  });

  it('refuses a selector of another name on the path of one object', async () => {
    const each = fixture();
    const reply = await each.server.handle(
      fakeRequest('GET', '/api/v1/watch/namespaces/default/configmaps/a?fieldSelector=metadata.name%3Db'),
    );
    assert.equal(reply.status, 400);
  });
});

describe('sending to many at once', () => {
  it('a broadcast is at once when idle, then waits as long as the last round took', async () => {
    const clock = new FakeClock();
    const scheduler = new FlushScheduler(clock);
    let nowMs = 0;
    clock.monotonicMs = () => nowMs;
    const flushed: number[] = [];
    const target = { flush: () => void (flushed.push(nowMs), (nowMs += 40)) };
    const pauses: number[] = [];
    const setTimer = clock.setTimer.bind(clock);
    clock.setTimer = (delayMs, fire) => (pauses.push(delayMs), setTimer(delayMs, fire));
    scheduler.request(target);
    await Promise.resolve();
    scheduler.request(target);
    scheduler.request(target);
    await Promise.resolve();
    assert.deepEqual([flushed, pauses], [[0], [40]]);
    await clock.advance(40);
    assert.deepEqual(
      [flushed, pauses],
      [
        [0, 40],
        [40, 40],
      ],
    );
  });

  it('a broadcast does not flush a target that was removed', async () => {
    const scheduler = new FlushScheduler(new FakeClock());
    const target = { flush: () => assert.fail('flushed') };
    scheduler.request(target);
    scheduler.forget(target);
    await Promise.resolve();
  });

  it('joins the same frames once', () => {
    const cache = new FrameCache();
    const frames = [Buffer.from('a'), Buffer.from('b')];
    const joined = cache.join(frames);
    assert.deepEqual(
      [joined.toString(), cache.join([...frames]) === joined, cache.join([Buffer.from('c')]).toString()],
      ['ab', true, 'c'],
    );
  });
});
