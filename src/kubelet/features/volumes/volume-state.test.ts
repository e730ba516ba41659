import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { MountedVolume } from '../../model/pod-volumes.ts';
import { initialVolumeState, nextVolumeState, usableVolume, volumeBlocker } from './volume-state.ts';
import type { VolumeEvent, VolumeState } from './volume-state.ts';

const mounted = (hostPath: string): MountedVolume => ({
  name: 'data',
  hostPath,
  readOnly: false,
  selinuxRelabel: false,
});
const [old, fresh] = [mounted('/old'), mounted('/fresh')];
const succeeded: VolumeEvent = { kind: 'succeeded', mounted: fresh };
const failed: VolumeEvent = { kind: 'failed', error: 'no server' };
/** Returns the state after events at 1000 ms, 2000 ms and so on. */
const after = (from: VolumeState, ...events: (VolumeEvent | 'begin' | 'changed' | 'slow')[]): VolumeState =>
  events.reduce<VolumeState>(
    (state, event, index) =>
      nextVolumeState(state, typeof event === 'string' ? { kind: event } : event, (index + 1) * 1_000),
    from,
  );
const waiting = initialVolumeState(0);
const ready: VolumeState = { phase: 'mounted', mounted: old };

describe('setting a volume up', () => {
  it('ends with a volume that can be used', () => {
    assert.deepEqual(after(waiting, 'begin', succeeded), { phase: 'mounted', mounted: fresh });
  });

  it('is retried half a second after the first failure, and then after twice as long', () => {
    const once = after(waiting, 'begin', failed);
    assert.deepEqual(once, {
      phase: 'waiting',
      failures: 1,
      lastError: 'no server',
      sinceMs: 0,
      last: undefined,
      retryAtMs: 2_500,
    });
    const twice = after(once, 'begin', failed);
    assert.equal(twice.phase === 'waiting' && twice.retryAtMs, 3_000);
    const many = Array.from({ length: 20 }).reduce<VolumeState>((state) => after(state, 'begin', failed), waiting);
    assert.equal(many.phase === 'waiting' && many.retryAtMs, 2_000 + 122_000);
  });

  it('is retried at once if something changed during the attempt', () => {
    const state = after(waiting, 'begin', 'changed', failed);
    assert.deepEqual(state, {
      phase: 'waiting',
      failures: 1,
      lastError: 'no server',
      sinceMs: 0,
      last: undefined,
      retryAtMs: undefined,
    });
    assert.deepEqual(after(waiting, 'begin', 'changed', succeeded), {
      phase: 'waiting',
      failures: 0,
      sinceMs: 3_000,
      last: fresh,
    });
  });

  it('does not wait for its next attempt if something changed', () => {
    const state = after(waiting, 'begin', failed, 'changed');
    assert.deepEqual(
      [state.phase, state.phase === 'waiting' && state.retryAtMs, state.phase === 'waiting' && state.failures],
      ['waiting', undefined, 1],
    );
  });
});

describe('refreshing a volume', () => {
  it('begins when something changed, or when it is due', () => {
    assert.deepEqual(after(ready, 'changed'), { phase: 'waiting', failures: 0, sinceMs: 1_000, last: old });
    assert.deepEqual(after(ready, 'begin'), {
      phase: 'working',
      failures: 0,
      sinceMs: 1_000,
      last: old,
      again: false,
      slow: false,
    });
    assert.deepEqual(after(ready, 'begin', succeeded), { phase: 'mounted', mounted: fresh });
  });

  it('leaves the volume usable with its old content', () => {
    for (const state of [ready, after(ready, 'changed'), after(ready, 'begin'), after(ready, 'begin', failed)])
      assert.equal(usableVolume(state), old);
    assert.equal(usableVolume(after(ready, 'begin', failed, 'begin')), old);
    assert.equal(usableVolume(waiting), undefined);
  });
});

it('an event that does not apply changes nothing', () => {
  const working = after(waiting, 'begin');
  const events: readonly (VolumeEvent | 'slow')[] = [succeeded, failed, 'slow'];
  assert.equal(after(working, 'begin'), working);
  for (const state of [waiting, ready]) for (const event of events) assert.equal(after(state, event), state);
});

describe('reasons that keep a pod from starting', () => {
  it('are absent once the volume can be used', () => {
    for (const state of [ready, after(ready, 'changed'), after(ready, 'begin', failed)])
      assert.equal(volumeBlocker('data', state), undefined);
  });

  it('contain the last error and the time of the next attempt', () => {
    assert.deepEqual(volumeBlocker('data', after(waiting, 'begin', failed)), {
      ...{ step: 'volume data', cause: 'no server', sinceMs: 0, lastError: 'no server', nextTryAtMs: 2_500 },
    });
    assert.equal(volumeBlocker('data', after(waiting, 'begin', failed, 'begin'))?.nextTryAtMs, undefined);
    assert.equal(volumeBlocker('data', after(waiting, 'begin', failed, 'begin', 'slow'))?.cause, 'no server');
  });

  it('mention the host if it does not respond, and otherwise that the attempt is slow', () => {
    assert.equal(volumeBlocker('data', waiting)?.cause, 'is being set up');
    assert.equal(volumeBlocker('data', after(waiting, 'begin'))?.cause, 'is being set up');
    assert.equal(volumeBlocker('data', after(waiting, 'begin', 'slow'))?.cause, 'the host does not respond');
  });
});
