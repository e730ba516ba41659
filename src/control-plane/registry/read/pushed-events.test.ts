import assert from 'node:assert/strict';
import { it } from 'node:test';
import { createPushedEvents } from './pushed-events.ts';

/** A source into which tests push events. */
class Source {
  begun = 0;
  stopped = 0;
  push: (event: number) => void = () => assert.fail('not begun');
  end: () => void = () => assert.fail('not begun');

  readonly begin = (push: (event: number) => void, end: () => void): Promise<() => void> => {
    this.begun++;
    Object.assign(this, { push, end });
    return Promise.resolve(() => void this.stopped++);
  };
}

const never = (): AbortSignal => new AbortController().signal;

async function readAll(events: AsyncIterable<number>): Promise<number[]> {
  const read: number[] = [];
  for await (const event of events) read.push(event);
  return read;
}

it('events arrive in order, including those before the end; then the source is stopped once', async () => {
  const source = new Source();
  const reading = readAll(createPushedEvents(never(), source.begin));
  source.push(1);
  source.push(2);
  await Promise.resolve();
  source.push(3);
  source.end();
  assert.deepEqual([await reading, source.begun, source.stopped], [[1, 2, 3], 1, 1]);
});

it('the source begins with the reader, and stops when the reader leaves', async () => {
  const source = new Source();
  const events = createPushedEvents(never(), source.begin);
  assert.equal(source.begun, 0);
  const first = events.next();
  source.push(1);
  source.push(2);
  assert.deepEqual(await first, { value: 1, done: false });
  await events.return(undefined);
  assert.deepEqual([source.begun, source.stopped], [1, 1]);
});

it('an abort ends it while it waits, and discards pushed events that were not read', async () => {
  for (const pushed of [[], [1]]) {
    const source = new Source();
    const controller = new AbortController();
    const reading = readAll(createPushedEvents(controller.signal, source.begin));
    for (const event of pushed) source.push(event);
    controller.abort();
    assert.deepEqual([await reading, source.stopped], [[], 1]);
  }
});

it('an aborted signal does not start the source', async () => {
  const source = new Source();
  assert.deepEqual([await readAll(createPushedEvents(AbortSignal.abort(), source.begin)), source.begun], [[], 0]);
});

it('an error at the start of the source is passed to the reader', async () => {
  await assert.rejects(readAll(createPushedEvents<number>(never(), () => Promise.reject(new Error('no')))), /no/);
});
