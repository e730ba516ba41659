import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { podUid } from '../model/ids.ts';
import type { PodUpdate } from '../model/pod-update.ts';
import type { SyncInput } from './sync-queue.ts';
import { SyncQueue } from './sync-queue.ts';

const config = (op: PodUpdate['op'], pods: PodUpdate['pods'] = []): SyncInput => ({
  kind: 'configuration',
  update: { op, source: 'file', pods },
});

function drain(queue: SyncQueue): string[] {
  const kinds: string[] = [];
  for (let input = queue.next(); input !== undefined; input = queue.next()) kinds.push(input.kind);
  return kinds;
}

describe('sync queue', () => {
  it('keeps events posted before the loop starts, in order, and one clean-up after them', () => {
    const queue = new SyncQueue();
    queue.post({ kind: 'housekeeping' });
    queue.post({ kind: 'sync', uids: [podUid('a')] });
    queue.post({ kind: 'housekeeping' });
    queue.post(config('ADD'));
    assert.equal(queue.size, 2);
    assert.deepEqual(drain(queue), ['sync', 'configuration', 'housekeeping']);
    assert.deepEqual(drain(queue), []);
  });

  it('notifies listeners after each post, until they unsubscribe', () => {
    const queue = new SyncQueue();
    const sizes: number[] = [];
    const leave = queue.onPost(() => sizes.push(queue.size));
    queue.post(config('ADD'));
    queue.post(config('REMOVE'));
    leave();
    queue.post(config('ADD'));
    assert.deepEqual(sizes, [1, 2]);
  });

  it('lists the waiting pods, each in its latest version', () => {
    const queue = new SyncQueue();
    const [first, second] = [buildPod({ 'metadata.uid': 'a' }), buildPod({ 'metadata.uid': 'b' })];
    const newer = buildPod({ 'metadata.uid': 'b', 'metadata.name': 'newer' });
    queue.post({ kind: 'sync', uids: [] });
    assert.equal(queue.configurationWaits(), false);
    queue.post(config('ADD', [first, second]));
    queue.post(config('UPDATE', [newer]));
    queue.post(config('REMOVE', [first]));
    assert.deepEqual([queue.waitingPods(), queue.configurationWaits()], [[newer], true]);
    drain(queue);
    assert.deepEqual([queue.waitingPods(), queue.configurationWaits()], [[], false]);
  });
});
