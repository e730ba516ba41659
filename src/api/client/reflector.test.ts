import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../base/log.ts';
import { seededRandom } from '../../base/random.ts';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { ConfigMap } from '../core/config-map.ts';
import { ApiStatusError, expired } from '../status/api-status-error.ts';
import type { ApiClient, ListOptions, ListResult, ReturnListener, WatchEvent, WatchOptions } from './api-client.ts';
import { createInformer } from './informer.ts';
import { reflect, withoutManagedFields } from './reflector.ts';
import type { FollowProblem, ReflectorOptions } from './reflector.ts';
import { configMaps } from './resource-types.ts';
import { FakeApiClient } from './testing/fake-api-client.ts';

const map = (name: string, version: string): ConfigMap => ({
  metadata: { name, namespace: 'default', uid: name, resourceVersion: version },
});
const added = (name: string, version: string): WatchEvent<ConfigMap> => ({ type: 'ADDED', object: map(name, version) });
const bookmark = (resourceVersion: string, initialEventsEnd = false): WatchEvent<ConfigMap> => ({
  type: 'BOOKMARK',
  resourceVersion,
  initialEventsEnd,
});
const wrong = (error: Error): WatchEvent<ConfigMap> => ({ type: 'ERROR', error });

/**
 * The answers to the calls, in order: events of a watch, which then stays open or ends; a list; or an error. After the
 * last answer, watches stay open.
 */
type Scripted =
  | { readonly events: readonly WatchEvent<ConfigMap>[]; readonly ends?: boolean; readonly breaksAfterMs?: number }
  | { readonly list: ListResult<ConfigMap> }
  | Error;

interface Fixture {
  readonly clock: FakeClock;
  /** `watch 0`, `stream 0`, `list ''`: each request and its version. */
  readonly asked: string[];
  readonly askedMs: number[];
  readonly watches: WatchOptions[];
  /** The names of the delivered objects; a complete list is in brackets. */
  readonly said: string[];
  readonly problems: (FollowProblem | undefined)[];
  /** Reports that the server is reachable again. */
  returned(why?: Parameters<ReturnListener>[0]): void;
  stop(): Promise<void>;
}

function follow(script: readonly Scripted[], options: Partial<ReflectorOptions<ConfigMap>> = {}): Fixture {
  const clock = new FakeClock();
  const [asked, askedMs, watches, said, problems]: [
    string[],
    number[],
    WatchOptions[],
    string[],
    (FollowProblem | undefined)[],
  ] = [[], [], [], [], []];
  const left = [...script];
  const next = (call: string): Scripted | undefined => {
    asked.push(call);
    askedMs.push(clock.monotonicMs());
    return left.shift();
  };
  const waiting = new Set<ReturnListener>();
  const client = {
    onReturn: (listener: ReturnListener) => (waiting.add(listener), () => waiting.delete(listener)),
    list: (_type: unknown, _namespace: string, { resourceVersion }: ListOptions) => {
      const answer = next(`list ${JSON.stringify(resourceVersion)}`);
      if (answer === undefined || answer instanceof Error)
        return Promise.reject(answer ?? new Error('not in the script'));
      return 'list' in answer ? Promise.resolve(answer.list) : Promise.reject(new Error('a list was not expected'));
    },
    async *watch(_type: unknown, _namespace: string, given: WatchOptions, signal: AbortSignal) {
      watches.push(given);
      const answer = next(
        `${given.sendInitialEvents === true ? 'stream' : 'watch'} ${JSON.stringify(given.resourceVersion)}`,
      );
      if (answer instanceof Error) throw answer;
      given.onOpen?.();
      if (answer !== undefined && 'events' in answer) {
        for (const event of answer.events) yield event;
        if (answer.ends === true) return;
        if (answer.breaksAfterMs !== undefined) {
          await new Promise<void>((resolve) => clock.setTimer(answer.breaksAfterMs ?? 0, resolve));
          throw new Error('broken');
        }
      }
      await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve(), { once: true }));
    },
  } as unknown as ApiClient;
  const sink = {
    replace: (items: readonly ConfigMap[]) =>
      void said.push(`[${items.map(({ metadata }) => metadata.name).join(' ')}]`),
    event: (_: string, { metadata }: ConfigMap) => void said.push(metadata.name),
  };
  const controller = new AbortController();
  const running = reflect(
    {
      client,
      type: configMaps,
      namespace: '',
      clock,
      random: seededRandom(5),
      log: silentLogger,
      sink,
      onProblem: (problem) => problems.push(problem),
      ...options,
    },
    controller.signal,
  );
  return {
    clock,
    asked,
    askedMs,
    watches,
    said,
    problems,
    returned: (why: Parameters<ReturnListener>[0] = 'answers') => waiting.forEach((listener) => listener(why)),
    stop: async () => {
      controller.abort();
      await running;
      assert.deepEqual([clock.armedTimers, waiting.size], [0, 0]);
    },
  };
}

const complete = (...names: readonly string[]): Scripted => ({
  events: [...names.map((name) => added(name, '10')), bookmark('20', true)],
  ends: true,
});

describe('a reflector', () => {
  it('takes a version that is older than what it saw for a server that was put back, and asks for all there is', async () => {
    for (const back of [added('b', '15'), bookmark('9')]) {
      const { clock, asked, said, stop } = follow([
        complete('a'),
        { events: [back] },
        { events: [added('c', '5'), bookmark('16', true)] },
      ]);
      await clock.advance(1_000);
      assert.deepEqual(
        [asked, said],
        [
          ['stream "0"', 'watch "20"', 'stream ""'],
          ['[a]', '[c]'],
        ],
      );
      await stop();
    }
  });

  it('asks for all there is when the server does not know the version yet', async () => {
    const tooLarge = new ApiStatusError('Timeout', 'Too large resource version: 20, current: 3', {
      causes: [{ reason: 'ResourceVersionTooLarge', message: 'Too large resource version' }],
    });
    for (const refusal of [tooLarge, { events: [wrong(tooLarge)] }]) {
      const { clock, asked, said, stop } = follow([complete('a'), refusal, complete('b')]);
      await clock.advance(1_000);
      assert.deepEqual(
        [asked.slice(0, 3), said],
        [
          ['stream "0"', 'watch "20"', 'stream ""'],
          ['[a]', '[b]'],
        ],
      );
      await stop();
    }
  });

  it('does not ask for everything because a busy server timed out', async () => {
    const { clock, asked, stop } = follow([complete('a'), new ApiStatusError('Timeout', 'etcd does not answer')]);
    await clock.advance(1_000);
    assert.deepEqual(asked, ['stream "0"', 'watch "20"', 'watch "20"']);
    await stop();
  });

  it('lists what it saw at least when the past was forgotten, and whatever there is when that is too old, too; both at once', async () => {
    const { clock, asked, askedMs, stop } = follow([
      complete('a'),
      { events: [wrong(expired('gone'))] },
      expired('gone'),
      complete('b'),
    ]);
    await clock.settle();
    assert.deepEqual(
      [asked.slice(0, 4), askedMs.slice(0, 4)],
      [
        ['stream "0"', 'watch "20"', 'stream "20"', 'stream ""'],
        [0, 0, 0, 0],
      ],
    );
    await stop();
  });

  it('goes on where it was when a watch falls silent, and asks for all there is when that one says nothing either', async () => {
    const { clock, asked, stop } = follow([
      { events: [added('a', '10'), bookmark('20', true)] },
      { events: [] },
      complete('b'),
    ]);
    await clock.advance(151_000);
    assert.deepEqual(asked, ['stream "0"', 'watch "20"']);
    await clock.advance(150_000);
    assert.deepEqual(asked.slice(2, 3), ['stream ""']);
    await stop();
  });

  it('is not kept from stopping by a list without a response', async () => {
    const clock = new FakeClock();
    const silent = new FakeApiClient({ clock, streamsLists: false });
    let asked = 0;
    silent.list = () => new Promise<never>(() => (asked += 1));
    const informer = createInformer({
      client: silent,
      type: configMaps,
      namespace: '',
      clock,
      random: seededRandom(1),
      log: silentLogger,
    });
    informer.start();
    await clock.settle();
    await informer.stop();
    assert.deepEqual([asked, clock.armedTimers], [1, 0]);
  });

  it('lists in pages when a streamed list does not come to an end', async () => {
    const { clock, asked, said, stop } = follow([
      { events: [added('a', '10')] },
      { list: { items: [map('a', '10')], resourceVersion: '20' } },
    ]);
    await clock.advance(151_000);
    assert.deepEqual([asked, said], [['stream "0"', 'list "0"', 'watch "20"'], ['[a]']]);
    await stop();
  });

  it('waits as long as a busy server says, and no longer than five minutes', async () => {
    const busy = (retryAfterSeconds: number): Error =>
      new ApiStatusError('TooManyRequests', 'later', { retryAfterSeconds });
    const { clock, askedMs, stop } = follow([busy(20), busy(100_000), complete('a')]);
    await clock.advance(400_000);
    const [, second = 0, third = 0] = askedMs;
    assert.ok(second >= 20_000 && second <= 30_000, `${second}`);
    assert.equal(third - second, 300_000);
    await stop();
  });

  it('goes on at once when it could not ask before and can now', async () => {
    const { clock, asked, returned, stop } = follow([
      ...Array.from({ length: 9 }, () => new Error('not joined')),
      complete('a'),
    ]);
    await clock.advance(65_000);
    const before = asked.length;
    returned('admitted');
    await clock.settle();
    assert.equal(asked.length, before + 1);
    await stop();
  });

  it('goes on soon after the server is known to be back, unless that asked for a pause', async () => {
    for (const [failure, isSoon] of [
      [new Error('away'), true],
      [new ApiStatusError('TooManyRequests', 'later', { retryAfterSeconds: 60 }), false],
    ] as const) {
      const { clock, asked, returned, stop } = follow([...Array.from({ length: 9 }, () => failure), complete('a')]);
      await clock.advance(isSoon ? 65_000 : 10_000);
      const before = asked.length;
      returned();
      await clock.advance(3_000);
      assert.equal(asked.length > before, isSoon);
      await stop();
    }
  });

  it('begins with short pauses again when a watch that broke had been open for a while', async () => {
    const away = Array.from({ length: 7 }, () => new Error('away'));
    const broken = follow([complete('a'), ...away, { events: [], breaksAfterMs: 2_000 }]);
    while (broken.asked.length < 9) await broken.clock.advance(1000);
    await broken.clock.advance(2_500);
    assert.equal(broken.asked.length, 10);
    await broken.stop();
  });

  it('reports its problem from the first failure on, and its end', async () => {
    const { clock, problems, stop } = follow([new Error('one'), new Error('two'), complete('a')]);
    const startMs = clock.nowMs();
    await clock.advance(10_000);
    assert.deepEqual(
      problems.map((problem) => problem && [problem.sinceMs - startMs, (problem.error as Error).message]),
      [[0, 'one'], [0, 'two'], undefined],
    );
    await stop();
  });

  it('asks servers to end watches after five to ten minutes, each at another time', async () => {
    const { clock, watches, stop } = follow([
      complete('a'),
      ...Array.from({ length: 5 }, (_, at) => ({ events: [bookmark(String(30 + at))], ends: true })),
    ]);
    await clock.advance(10_000);
    const seconds = watches.map(({ timeoutSeconds = 0 }) => timeoutSeconds);
    assert.ok(
      seconds.length === 7 &&
        new Set(seconds).size > 3 &&
        seconds.every((each) => Number.isInteger(each) && each >= 300 && each < 600),
      seconds.join(' '),
    );
    await stop();
  });

  it('delivers the transformed objects, in lists and events', async () => {
    const full = (name: string): ConfigMap => ({
      ...map(name, '30'),
      metadata: { ...map(name, '30').metadata, managedFields: [{ manager: 'm' }] },
    });
    const clock = new FakeClock();
    const api = new FakeApiClient({ clock });
    api.seed(configMaps, full('a'));
    const informer = createInformer({
      client: api,
      clock,
      random: seededRandom(1),
      log: silentLogger,
      type: configMaps,
      namespace: '',
      transform: withoutManagedFields,
    });
    informer.start();
    await clock.settle();
    api.seed(configMaps, full('b'));
    await clock.settle();
    assert.deepEqual(
      informer.list().map(({ metadata }) => [metadata.name, 'managedFields' in metadata]),
      [
        ['a', false],
        ['b', false],
      ],
    );
    await informer.stop();
  });
});

describe('a thousand agents', () => {
  it('whose server was away for five minutes come back in a crowd that is spread out, and all of them do', async () => {
    const clock = new FakeClock();
    const api = new FakeApiClient({ clock });
    const agents = Array.from({ length: 1_000 }, (_, agent) =>
      createInformer({
        client: api,
        clock,
        random: seededRandom(agent + 1),
        log: silentLogger,
        type: configMaps,
        namespace: '',
        fieldSelector: `metadata.name=a${agent}`,
      }),
    );
    for (const agent of agents) agent.start();
    await clock.settle();
    const triedMs: number[] = [];
    const back = api.script(({ verb }) => {
      if (verb !== 'watch') return undefined;
      triedMs.push(clock.monotonicMs());
      return new ApiStatusError('ServiceUnavailable', 'away');
    });
    api.endWatches();
    await clock.advance(300_000);
    const perSecond = (fromMs: number, toMs: number): number =>
      Math.max(
        ...Array.from(
          { length: (toMs - fromMs) / 1_000 },
          (_, second) =>
            triedMs.filter((at) => at >= fromMs + second * 1_000 && at < fromMs + (second + 1) * 1_000).length,
        ),
      );
    // In the long run each client tries once in 30 to 60 s. Together they make 22 tries a second, and never all at the
    // same time.
    assert.ok(perSecond(200_000, 300_000) < 120, `${perSecond(200_000, 300_000)} tries in a second`);
    back();
    const before = api.calls.length;
    const returnedMs = clock.monotonicMs();
    await clock.advance(60_000);
    assert.deepEqual(
      [
        api.openWatches.length,
        api.calls.length - before,
        agents.filter((agent) => agent.problem() !== undefined).length,
        returnedMs,
      ],
      [1_000, 1_000, 1_000, 300_000],
    );
    for (let agent = 0; agent < 1_000; agent += 1) api.seed(configMaps, map(`a${agent}`, ''));
    await clock.settle();
    assert.equal(agents.filter((agent) => agent.problem() !== undefined || agent.size !== 1).length, 0);
    await Promise.all(agents.map((agent) => agent.stop()));
  });
});
