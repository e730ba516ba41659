import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { isKind } from './errors.ts';
import { untilAborted } from './until-aborted.ts';

const never = new Promise<never>(() => undefined);
const aborted = (error: unknown): boolean => isKind(error, 'Aborted');

describe('work that is awaited until an abort', () => {
  it('comes to what it comes to', async () => {
    const { signal } = new AbortController();
    assert.equal(await untilAborted(Promise.resolve(1), signal), 1);
    await assert.rejects(untilAborted(Promise.reject(new Error('its own')), signal), /its own/);
  });

  it('is no longer awaited after an abort, before or meanwhile', async () => {
    const controller = new AbortController();
    const waiting = untilAborted(never, controller.signal);
    controller.abort();
    await assert.rejects(waiting, aborted);
    await assert.rejects(untilAborted(never, controller.signal), aborted);
  });

  it('may fail after its caller has aborted', async () => {
    await assert.rejects(untilAborted(Promise.reject(new Error('late')), AbortSignal.abort()), aborted);
  });

  it("is aborted with the caller's error", async () => {
    const signal = AbortSignal.abort(new Error('closed'));
    await assert.rejects(
      untilAborted(never, signal, () => signal.reason as unknown),
      /closed/,
    );
  });
});
