import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { silentLogger } from '../../../base/log.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { PageFeed } from './page-feed.ts';
import type { FeedClient } from './page-feed.ts';
import type { PageState, PageUsage } from './page-state.ts';

const usage = (atMs: number): PageUsage => ({ atMs, node: { cpuMillis: 1 }, pods: [] });
const settle = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function fixture() {
  const clock = new FakeClock();
  const counts = { samples: 0, states: 0 };
  const listeners = new Set<() => void>();
  let name = 'n';
  const feed = new PageFeed({
    sample: async () => {
      counts.samples++;
      return usage(clock.nowMs());
    },
    state: () => {
      counts.states++;
      return { node: { name } } as PageState;
    },
    watch: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    clock,
    random: seededRandom(1),
    log: silentLogger,
  });
  const change = (next: string): void => {
    name = next;
    for (const listener of listeners) listener();
  };
  const pass = async (ms: number): Promise<void> => {
    for (let past = 0; past < ms; past += 100) {
      await clock.advance(100);
      await settle();
    }
  };
  return { clock, counts, listeners, feed, change, pass };
}

interface Received extends FeedClient {
  readonly events: [string, unknown][];
  isClosed: boolean;
}

/** `take` resolves when the client has received an event. */
function client(take: () => Promise<void> = async () => undefined): Received {
  const received: Received = {
    events: [],
    isClosed: false,
    send: async (event, json) => {
      received.events.push([event, JSON.parse(json)]);
      await take();
    },
    close: () => {
      received.isClosed = true;
    },
  };
  return received;
}

const kinds = ({ events }: Received): string[] => events.map(([kind]) => kind);

describe('the feed of the page', () => {
  it("the page's feed does nothing without a client, and nothing after the last one has gone", async () => {
    const { feed, counts, listeners, clock, pass } = fixture();
    await pass(60_000);
    assert.deepEqual([counts.samples, counts.states, listeners.size], [0, 0, 0]);
    const leave = feed.connect(client());
    await pass(5000);
    assert.ok(counts.samples > 0);
    leave?.();
    const after = { ...counts };
    await pass(60_000);
    assert.deepEqual([counts, listeners.size, clock.armedTimers], [after, 0, 0]);
  });

  it('shares one sampling between all clients', async () => {
    const { feed, counts, pass } = fixture();
    const clients = Array.from({ length: 5 }, () => client());
    for (const each of clients) feed.connect(each);
    await pass(10_000);
    assert.ok(counts.samples <= 6, String(counts.samples));
    for (const each of clients)
      assert.deepEqual(
        each.events.filter(([kind]) => kind === 'usage'),
        clients[0]?.events.filter(([kind]) => kind === 'usage'),
      );
  });

  it('sends a change at once, gathered with others, and only if the state differs', async () => {
    const { feed, change, pass } = fixture();
    const one = client();
    feed.connect(one);
    await pass(100);
    change('a');
    change('b');
    await pass(500);
    change('b');
    await pass(500);
    assert.deepEqual(
      one.events.filter(([kind]) => kind === 'state'),
      [
        ['state', { node: { name: 'n' } }],
        ['state', { node: { name: 'b' } }],
      ],
    );
  });

  it('gives a later client the past of the node', async () => {
    const { feed, pass } = fixture();
    feed.connect(client());
    await pass(9000);
    const late = client();
    feed.connect(late);
    await settle();
    assert.deepEqual(kinds(late), ['state', 'history', 'usage']);
    assert.ok((late.events[1]?.[1] as unknown[]).length >= 4);
  });

  it('keeps the newest events for a slow client, and disconnects it after twenty seconds', async () => {
    const { feed, pass } = fixture();
    let release = (): void => undefined;
    const slow = client(() => new Promise((resolve) => (release = resolve)));
    feed.connect(slow);
    await pass(12_000);
    assert.deepEqual(kinds(slow), ['state']);
    release();
    await pass(100);
    assert.deepEqual(kinds(slow), ['state', 'usage']);
    await pass(25_000);
    assert.deepEqual([slow.isClosed, feed.clients], [true, 0]);
  });

  it('refuses more than 32 clients, and takes one when another has gone', () => {
    const { feed } = fixture();
    const leaves = Array.from({ length: 32 }, () => feed.connect(client()));
    assert.equal(feed.connect(client()), undefined);
    leaves[3]?.();
    leaves[3]?.();
    assert.notEqual(feed.connect(client()), undefined);
    feed.stop();
    assert.equal(feed.clients, 0);
  });
});
