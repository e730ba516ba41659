import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FakeClock } from '../../../base/testing/fake-clock.ts';
import { FINISHING_MS, unhurried } from './cri-unhurried.ts';

/** A call that ends when the test says so, or is aborted. */
function begin(): { clock: FakeClock; caller: AbortController; end: (result: string) => void; outcome: () => string } {
  const clock = new FakeClock();
  const caller = new AbortController();
  let end: (result: string) => void = () => undefined;
  let outcome = 'under way';
  const call = unhurried(
    clock,
    { signal: caller.signal },
    ({ signal }) =>
      new Promise<string>((resolve, reject) => {
        end = resolve;
        signal?.addEventListener('abort', () => reject(new Error('cut off')), { once: true });
      }),
  );
  call.then(
    (result) => (outcome = result),
    (error: Error) => (outcome = error.message),
  );
  return { clock, caller, end: (result) => end(result), outcome: () => outcome };
}

test('a start whose caller aborts still completes, and its result counts', async () => {
  const { clock, caller, end, outcome } = begin();
  caller.abort();
  await clock.advance(FINISHING_MS - 1);
  assert.equal(outcome(), 'under way');
  end('started');
  await clock.settle();
  assert.equal(outcome(), 'started');
  assert.equal(clock.armedTimers, 0);
});

test('one that hangs is aborted some time later', async () => {
  const { clock, caller, outcome } = begin();
  caller.abort();
  await clock.advance(FINISHING_MS);
  assert.equal(outcome(), 'cut off');
});

test('nothing begins for a caller that has aborted already, and no timer is left', async () => {
  const clock = new FakeClock();
  assert.equal(
    await unhurried(clock, { signal: AbortSignal.abort() }, async ({ signal }) => String(signal?.aborted)),
    'true',
  );
  assert.equal(await unhurried(clock, { timeoutMs: 5 }, async ({ timeoutMs }) => `within ${timeoutMs}`), 'within 5');
  assert.equal(clock.armedTimers, 0);
});
