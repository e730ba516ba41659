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
/** The state after events that happen at 1000 ms, 2000 ms and so on. */
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

  it('setting a volume up is tried again half a second after the first failure, and then after twice as long', () => {
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

  it('setting a volume up is tried again at once when something changed meanwhile', () => {
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

  it('waits no longer for its next try when something changed', () => {
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
  it('reasons that keep a pod from starting is nothing once the volume can be used', () => {
    for (const state of [ready, after(ready, 'changed'), after(ready, 'begin', failed)])
      assert.equal(volumeBlocker('data', state), undefined);
  });

  it('reasons that keep a pod from starting is the last error, and when the next try is', () => {
    assert.deepEqual(volumeBlocker('data', after(waiting, 'begin', failed)), {
      ...{ step: 'volume data', cause: 'no server', sinceMs: 0, lastError: 'no server', nextTryAtMs: 2_500 },
    });
    assert.equal(volumeBlocker('data', after(waiting, 'begin', failed, 'begin'))?.nextTryAtMs, undefined);
    assert.equal(volumeBlocker('data', after(waiting, 'begin', failed, 'begin', 'slow'))?.cause, 'no server');
  });

  it('reasons that keep a pod from starting is the host when it does not respond, and otherwise that it takes its time', () => {
    assert.equal(volumeBlocker('data', waiting)?.cause, 'is being set up');
    assert.equal(volumeBlocker('data', after(waiting, 'begin'))?.cause, 'is being set up');
    assert.equal(volumeBlocker('data', after(waiting, 'begin', 'slow'))?.cause, 'the host does not respond');
  });
});
