import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { buildPod } from '../../api/testing/pod-builder.ts';
import { podUid } from '../model/ids.ts';
import { PodChanges } from './pod-changes.ts';

describe('pod changes', () => {
  it('notifies each listener synchronously until it unsubscribes', () => {
    const changes = new PodChanges();
    const heard: string[] = [];
    const leave = changes.onChange((uid) => heard.push(`first ${uid}`));
    changes.onChange((uid) => heard.push(`second ${uid}`));
    changes.notify(podUid('a'));
    leave();
    changes.notify(podUid('b'));
    assert.deepEqual(heard, ['first a', 'second a', 'second b']);
  });

  it('distinguishes changed pods from removed pods', () => {
    const changes = new PodChanges();
    const heard: string[] = [];
    changes.onChange((uid) => heard.push(`changed ${uid}`));
    const leave = changes.onGone(({ metadata }) => heard.push(`gone ${metadata.uid}`));
    changes.notifyGone(buildPod({ 'metadata.uid': 'a' }));
    leave();
    changes.notifyGone(buildPod({ 'metadata.uid': 'b' }));
    assert.deepEqual(heard, ['gone a']);
  });
});
