import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { callRepeatedly } from './repeated-call.ts';

interface Attempt {
  readonly isNext: boolean;
  readonly atMs: number;
  readonly signal: AbortSignal;
  answer(text: string): void;
  fail(error: Error): void;
}

function world(isLost = (): boolean => true): { clock: FakeClock; attempts: Attempt[]; call: () => Promise<string> } {
  const clock = new FakeClock();
  const attempts: Attempt[] = [];
  const beganMs = clock.monotonicMs();
  const call = (): Promise<string> =>
    callRepeatedly({
      ...{ clock, silenceMs: 500, limitMs: 3000, isLost },
      attempt: (isNext, signal) =>
        new Promise<string>((answer, fail) => {
          attempts.push({ isNext, atMs: clock.monotonicMs() - beganMs, signal, answer, fail });
        }),
      mayRepeat: (error) => error instanceof Error && error.message !== 'final',
    });
  return { clock, attempts, call };
}

test('one attempt that is answered is all there is', async () => {
  const { clock, attempts, call } = world();
  const result = call();
  await clock.advance(400);
  attempts[0]?.answer('a');
  assert.equal(await result, 'a');
  await clock.advance(10_000);
  assert.deepEqual(
    attempts.map(({ isNext }) => isNext),
    [false],
  );
});

test('a lost attempt gets others beside it, each after twice the time, and the first answer ends all', async () => {
  const { clock, attempts, call } = world();
  const result = call();
  await clock.advance(1600);
  assert.deepEqual(
    attempts.map(({ atMs, isNext }) => [atMs, isNext]),
    [
      [0, false],
      [520, true],
      [1540, true],
    ],
  );
  attempts[0]?.answer('the first after all');
  assert.equal(await result, 'the first after all');
  assert.ok(attempts.every(({ signal }) => signal.aborted));
});

test('a failed attempt is repeated soon, but not while another one is under way', async () => {
  const { clock, attempts, call } = world();
  const result = call();
  attempts[0]?.fail(new Error('refused'));
  await clock.advance(30);
  assert.deepEqual(
    attempts.map(({ atMs }) => atMs),
    [0, 25],
  );
  await clock.advance(1100);
  assert.equal(attempts.length, 3);
  attempts[1]?.fail(new Error('refused'));
  await clock.advance(200);
  assert.equal(attempts.length, 3);
  attempts[2]?.answer('b');
  assert.equal(await result, 'b');
});

test('an attempt that is only slow is waited for, and looked at again and again', async () => {
  let isLost = false;
  const { clock, attempts, call } = world(() => isLost);
  const result = call();
  await clock.advance(1400);
  assert.equal(attempts.length, 1);
  isLost = true;
  await clock.advance(300);
  assert.equal(attempts.length, 2);
  attempts[1]?.answer('b');
  assert.equal(await result, 'b');
});

test('an attempt that was answered between the two looks is not repeated', async () => {
  const { clock, attempts, call } = world();
  const result = call();
  await clock.advance(510);
  attempts[0]?.answer('a');
  assert.equal(await result, 'a');
  await clock.advance(1000);
  assert.equal(attempts.length, 1);
});

test('an error that no attempt can mend is the result at once', async () => {
  const { clock, attempts, call } = world();
  const result = call();
  await clock.advance(600);
  attempts[1]?.fail(new Error('final'));
  await assert.rejects(result, /final/);
  assert.ok(attempts[0]?.signal.aborted);
});

test('after the limit what is under way decides, and the first error is the one that counts', async () => {
  const { clock, attempts, call } = world();
  const result = call();
  attempts[0]?.fail(new Error('why it began'));
  await clock.advance(60_000);
  const last = attempts.length;
  assert.ok(last > 2 && attempts.every(({ atMs }) => atMs <= 3000));
  for (const { fail } of attempts) fail(new Error('later'));
  await assert.rejects(result, /why it began/);
  assert.equal(attempts.length, last);
});

test('attempts that all fail end with the limit', async () => {
  const clock = new FakeClock();
  let count = 0;
  const result = callRepeatedly({
    ...{ clock, silenceMs: 500, limitMs: 3000, isLost: () => true },
    attempt: () => Promise.reject(new Error(`${(count += 1)}`)),
    mayRepeat: () => true,
  });
  const refused = assert.rejects(result, /^Error: 1$/);
  await clock.advance(3100);
  await refused;
  assert.ok(count >= 5 && count < 20, `${count} attempts`);
});
