import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ErrorKind } from '../../../base/errors.ts';
import { KubeletError } from '../../../base/errors.ts';
import { seededRandom } from '../../../base/random.ts';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { recordingLog } from '../../../base/testing/recording-log.ts';
import type { EventSourceKind, RuntimeEventSource } from '../../ports/runtime.ts';
import { EventStream } from './event-stream.ts';

/** A source whose streams the test opens and ends. */
class Source {
  tries = 0;
  mode: 'stands' | ErrorKind = 'stands';
  end: (error?: Error) => void = () => undefined;
  readonly source: RuntimeEventSource;

  constructor(kind: string) {
    this.source = {
      kind: kind as EventSourceKind,
      subscribe: ({ onOpen }, signal) => {
        this.tries++;
        if (this.mode !== 'stands') return Promise.reject(new KubeletError(this.mode, 'no'));
        onOpen();
        return new Promise<void>((resolve, reject) => {
          this.end = (error) => (error === undefined ? resolve() : reject(error));
          signal?.addEventListener('abort', () => resolve(), { once: true });
        });
      },
    };
  }
}

function setUp() {
  const clock = new FakeClock();
  const log = recordingLog();
  const [first, second] = [new Source('cri'), new Source('other')];
  const states: (string | undefined)[] = [];
  const stream = new EventStream({
    clock,
    log,
    random: seededRandom(1),
    sources: [first.source, second.source],
    onEvent: () => undefined,
    onState: (kind) => void states.push(kind),
  });
  const warnings = (): number => log.lines.filter(({ level }) => level === 'warn').length;
  return { clock, first, second, states, stream, warnings };
}

describe('the event stream', () => {
  it('comes from the first source that works, and reports when it is connected and when it is not', async () => {
    const { clock, first, second, states, stream, warnings } = setUp();
    stream.start();
    await clock.settle();
    assert.deepEqual([stream.kind, second.tries], ['cri', 0]);
    first.end(new KubeletError('Unavailable', 'broke'));
    await clock.settle();
    assert.deepEqual([stream.kind, warnings()], [undefined, 1]);
    await clock.advance(1000);
    assert.deepEqual([states, stream.kind], [['cri', undefined, 'cri'], 'cri']);
    await stream.stop();
    assert.deepEqual(states, ['cri', undefined, 'cri'], 'an end that was asked for is no news');
  });

  it('is reconnected soon after a long connection, and after growing delays while it fails', async () => {
    const { clock, first, second, stream } = setUp();
    first.mode = second.mode = 'Unavailable';
    stream.start();
    await clock.advance(60_000);
    const whileDown = first.tries;
    assert.ok(whileDown >= 8 && whileDown < 20, `${whileDown} tries in a minute`);
    first.mode = 'stands';
    await clock.advance(20_000);
    first.end();
    await clock.settle();
    const before = first.tries;
    await clock.advance(1000);
    assert.equal(first.tries, before + 1, 'it had stood for ten seconds');
    await stream.stop();
  });

  it('that breaks immediately is not reconnected without a delay', async () => {
    const { clock, first, stream } = setUp();
    stream.start();
    for (let round = 0; round < 400; round++) {
      await clock.advance(100);
      first.end();
    }
    assert.ok(first.tries < 20, `${first.tries} tries in 40 s`);
    await stream.stop();
  });

  it('does not try a source that is not implemented until another stream breaks', async () => {
    const { clock, first, second, stream, warnings } = setUp();
    first.mode = 'Unimplemented';
    stream.start();
    await clock.advance(100_000);
    assert.deepEqual([first.tries, second.tries, stream.kind], [1, 1, 'other']);
    second.mode = 'Unavailable';
    second.end();
    await clock.advance(30_000);
    assert.equal(first.tries, 2, 'the runtime that comes back may be a newer one');
    assert.ok(second.tries > 4);
    assert.equal(warnings(), 0);
    await stream.stop();
  });

  it('is tried again after ten minutes when no source works', async () => {
    const { clock, first, second, stream } = setUp();
    first.mode = second.mode = 'Unimplemented';
    stream.start();
    await clock.advance(599_000);
    assert.deepEqual([first.tries, second.tries], [1, 1]);
    await clock.advance(400_000);
    assert.deepEqual([first.tries, second.tries], [2, 2]);
    await stream.stop();
  });

  it('ends with the agent, and is absent without a source', async () => {
    const { clock, first, stream } = setUp();
    stream.start();
    await clock.settle();
    await stream.stop();
    await clock.advance(100_000);
    assert.equal(first.tries, 1);
    const none = new EventStream({
      clock,
      log: recordingLog(),
      random: seededRandom(1),
      sources: [],
      onEvent: () => undefined,
      onState: () => undefined,
    });
    none.start();
    await none.stop();
    assert.equal(none.kind, undefined);
  });
});
