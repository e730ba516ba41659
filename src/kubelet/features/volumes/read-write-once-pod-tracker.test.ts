import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podUid } from '../../model/ids.ts';
import { ReadWriteOncePodTracker } from './read-write-once-pod-tracker.ts';
import type { Resolved } from './set-up-volume.ts';

/** Builds a volume with the fields that the tracker reads: the name, the access modes and the plugin. */
function volume(
  accessModes: readonly string[] | undefined,
  { name = 'pv', kind = 'persistent', mode = '' } = {},
): Resolved {
  const spec = { name, kind, mode, persistentVolume: { spec: { accessModes } } };
  return { spec, plugin: { name: 'kubernetes.io/csi' }, path: '' } as unknown as Resolved;
}

const alone = volume(['ReadWriteOncePod']);
const shared = volume(['ReadWriteMany']);
const [first, second, third] = [podUid('u1'), podUid('u2'), podUid('u3')];
const refused = /already in use by another pod/;

describe('a ReadWriteOncePod volume', () => {
  it('is used by one pod at a time, any number of times', () => {
    const tracker = new ReadWriteOncePodTracker();
    tracker.use(alone, first);
    tracker.use(alone, first);
    assert.throws(() => tracker.use(alone, second), refused);
    tracker.use(volume(['ReadWriteOncePod'], { name: 'other' }), second);
    tracker.release(first);
    tracker.use(alone, second);
    assert.throws(() => tracker.use(alone, first), refused);
  });

  it('is rejected with the message for mounts or for devices', () => {
    for (const [mode, words] of [
      ['Filesystem', /^Error: MountVolume\.SetUp failed/],
      ['Block', /^Error: MapVolume\.SetUpDevice failed/],
    ] as const) {
      const tracker = new ReadWriteOncePodTracker();
      tracker.use(volume(['ReadWriteOncePod'], { mode }), first);
      assert.throws(() => tracker.use(volume(['ReadWriteOncePod'], { mode }), second), words);
    }
  });

  it('is not free while any pod has a folder of it, even from an earlier run of the agent', () => {
    const tracker = new ReadWriteOncePodTracker();
    tracker.found({ folder: 'kubernetes.io~csi', specName: 'pv' }, first);
    tracker.use(shared, second);
    tracker.use(shared, third);
    assert.throws(() => tracker.use(alone, third), refused);
    tracker.release(first);
    assert.throws(() => tracker.use(alone, third), refused, 'the second pod still uses it');
    tracker.release(second);
    tracker.use(alone, third);
  });

  it('may be awaited until a pod uses it', () => {
    const tracker = new ReadWriteOncePodTracker();
    assert.equal(tracker.waits(alone), true);
    assert.deepEqual(
      [undefined, shared, volume(undefined)].map((each) => tracker.waits(each)),
      [false, false, false],
    );
    tracker.use(alone, first);
    assert.equal(tracker.waits(alone), false);
    tracker.release(second);
    assert.equal(tracker.waits(alone), false);
    tracker.release(first);
    assert.equal(tracker.waits(alone), true);
  });
});

it('volumes with other access modes, and inline volumes, are never rejected', () => {
  const tracker = new ReadWriteOncePodTracker();
  for (const each of [shared, volume(undefined), volume(['ReadWriteOncePod'], { kind: 'inline', name: 'mine' })])
    for (const uid of [first, second]) tracker.use(each, uid);
});
