import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { UnreadAnswers } from './unread-answers.ts';
import type { HeldAnswer, UnreadLimits } from './unread-answers.ts';

const kib = 1024;
const own = 8 * kib;

class Fixture {
  readonly clock = new FakeClock();
  readonly cut: string[] = [];
  readonly unread: UnreadAnswers;
  readonly #connections = new Map<string, object>();

  constructor(limits: Partial<UnreadLimits> = {}) {
    this.unread = new UnreadAnswers(this.clock, {
      bytesPerConnection: 1000 * kib,
      bytes: 1000 * kib,
      readMs: 30_000,
      bytesPerSecond: kib,
      ...limits,
    });
  }

  hold(
    name: string,
    bytes: number,
    { connection = name, user = 'jane', waitMs }: { connection?: string; user?: string; waitMs?: number } = {},
  ): HeldAnswer {
    const at = this.#connections.get(connection) ?? {};
    this.#connections.set(connection, at);
    return this.unread.hold({
      connection: at,
      user,
      bytes,
      ...(waitMs !== undefined && { waitMs }),
      cut: () => this.cut.push(name),
    });
  }
}

describe('a response that is not read', () => {
  it('is aborted after its time, which is longer for a long response', async () => {
    const each = new Fixture();
    each.hold('short', 0);
    each.hold('long', 60 * kib);
    each.hold('patient', 0, { waitMs: 200_000 });
    const read = each.hold('read', 0);
    read.end();
    const seen: (readonly string[])[] = [];
    for (const ms of [30_000, 60_000, 110_000]) {
      await each.clock.advance(ms);
      seen.push([...each.cut]);
    }
    assert.deepEqual([seen, each.unread.bytes], [[['short'], ['short', 'long'], ['short', 'long', 'patient']], 0]);
  });

  it('aborts older responses of its connection above the limit, and never itself', () => {
    const each = new Fixture({ bytesPerConnection: 100 * kib });
    each.hold('a', 40 * kib, { connection: 'one' });
    each.hold('b', 40 * kib, { connection: 'one' });
    each.hold('other', 40 * kib, { connection: 'two' });
    each.hold('c', 40 * kib, { connection: 'one' });
    assert.deepEqual(each.cut, ['a']);
    each.hold('huge', 500 * kib, { connection: 'one' });
    assert.deepEqual([each.cut, each.unread.bytes], [['a', 'b', 'c'], 540 * kib + 2 * own]);
  });

  it('aborts the oldest responses of the user with the most bytes above the total limit', () => {
    const each = new Fixture({ bytes: 200 * kib });
    each.hold('honest', 40 * kib, { user: 'honest' });
    for (const name of ['1', '2', '3', '4']) each.hold(name, 20 * kib, { user: 'flood' });
    each.hold('list', 90 * kib, { user: 'other' });
    assert.deepEqual(each.cut, ['1', '2', '3']);
    each.hold('5', 20 * kib, { user: 'flood' });
    assert.deepEqual(each.cut, ['1', '2', '3', 'list']);
  });

  it('is not sent again if it would abort responses of its own connection or user that may be in transit', async () => {
    const each = new Fixture({ bytesPerConnection: 100 * kib, bytes: 200 * kib });
    const connection = {};
    const first = each.unread.hold({ connection, user: 'jane', bytes: 80 * kib, cut: () => each.cut.push('first') });
    const [small, large, elsewhere] = [
      { connection, user: 'jane', bytes: 16 * kib },
      { connection, user: 'jane', bytes: 20 * kib },
      { connection: {}, user: 'jane', bytes: 150 * kib },
    ];
    const seen = (): readonly boolean[] => [small, large, elsewhere].map((asked) => each.unread.hasRoom(asked));
    assert.deepEqual([seen(), each.unread.hasRoom({ ...elsewhere, user: 'other' })], [[true, false, false], true]);
    // A user with fewer bytes does not wait for one with more.
    each.hold('more', 90 * kib, { user: 'flood' });
    assert.deepEqual(
      [seen(), each.unread.hasRoom({ connection: {}, user: 'flood', bytes: 20 * kib })],
      [[true, false, true], false],
    );
    // An active client would have read it by then.
    await each.clock.advance(2100);
    assert.deepEqual(seen(), [true, true, true]);
    first.end();
  });

  it('counts its growth, and nothing after its end', () => {
    const each = new Fixture({ bytes: 100 * kib });
    const first = each.hold('first', 10 * kib);
    const second = each.hold('second', 10 * kib);
    second.resize(90 * kib);
    assert.deepEqual([each.cut, each.unread.bytes], [['first'], 90 * kib + own]);
    first.resize(10_000 * kib);
    second.resize(0);
    assert.equal(each.unread.bytes, own);
    second.end();
    second.end();
    second.resize(5);
    assert.deepEqual([each.unread.bytes, each.clock.armedTimers], [0, 0]);
  });

  it('leaves nothing of it in memory after its end, though its handle is kept', async () => {
    setFlagsFromString('--expose-gc');
    const collect = runInNewContext('gc') as () => void;
    const { unread } = new Fixture();
    const begin = (): { readonly handle: HeldAnswer; readonly body: WeakRef<object> } => {
      const body = { text: 'long' };
      const cut = (): void => assert.fail(`${body.text} was cut`);
      return { handle: unread.hold({ connection: {}, user: 'jane', bytes: 4, cut }), body: new WeakRef(body) };
    };
    const [ended, open] = [begin(), begin()];
    ended.handle.end();
    // A reference that was made in this turn is only weak from the next one on.
    await new Promise((resolve) => setImmediate(resolve));
    collect();
    assert.deepEqual([ended.body.deref(), open.body.deref()?.constructor], [undefined, Object]);
    ended.handle.resize(0);
    open.handle.end();
  });
});
