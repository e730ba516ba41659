import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { podUid } from '../../model/ids.ts';
import type { AttachedBy, StagedVolume, VolumePlugin } from '../../ports/volume-plugin.ts';
import { VolumeAttachWaiter } from './volume-attach-waiter.ts';
import { testPod, volumeWorld } from './testing/volume-world.ts';

const KEY = 'kubernetes.io/csi/d^h';

/** Creates a waiter with a pod and one attachable volume; `seen` records the node's reports of its volumes in use. */
function setUp({ byController = true, attachedBy = 'byController' as AttachedBy } = {}) {
  const staged: StagedVolume = { key: KEY, path: '/global' };
  const calls: string[] = [];
  const state = { checked: undefined as string | undefined, found: [] as StagedVolume[] };
  const plugin: VolumePlugin = {
    name: 'test/disk',
    supports: (spec) => spec.kind === 'inline' && spec.volume.csi !== undefined,
    setUp: async () => {
      calls.push('setUp');
      return { hostPath: '/x', readOnly: false, selinuxRelabel: false };
    },
    staging: {
      attaches: () => attachedBy,
      checkAttached: async () => {
        calls.push('check');
        if (state.checked !== undefined) throw new Error(state.checked);
      },
      plan: () => staged,
      stage: async () => {
        calls.push('stage');
        return staged;
      },
      unstage: async () => void calls.push('unstage'),
      identify: async () => staged,
      findStaged: async () => state.found,
    },
  };
  const reported: string[][] = [];
  const gate = new VolumeAttachWaiter({ byController });
  const world = volumeWorld({
    plugins: [plugin],
    attachWaiter: gate,
    onInUseChanged: () => reported.push(world.manager.volumesInUse()),
  });
  const pod = testPod('u1', [{ name: 'v', csi: { driver: 'd' } }]);
  return { ...world, pod, gate, calls, reported, state };
}

describe('a volume attached by the control plane', () => {
  it("is reported as in use, awaited without an event, and used as soon as the node's status lists it", async () => {
    const { manager, clock, pod, gate, calls, reported, events } = setUp();
    const ready = manager.ensure(pod);
    await clock.settle();
    assert.deepEqual(
      [reported, manager.blockers(podUid('u1'))[0]?.cause],
      [[[KEY]], 'Volume has not been added to the list of VolumesInUse in the node\'s volume status for volume "v"'],
    );
    gate.attached([KEY]);
    await clock.settle();
    assert.deepEqual(calls, [], 'not before the API server knows that it is in use');
    gate.reported([KEY]);
    await ready;
    assert.deepEqual([calls, events], [['check', 'stage', 'setUp'], []]);
  });

  it("causes an event in upstream's words when it is missing for too long", async () => {
    const { manager, clock, pod, gate } = setUp();
    gate.reported([KEY]);
    const waiting = assert.rejects(manager.ensure(pod), {
      message: 'unmounted volumes=[v], unattached volumes=[v], failed to process volumes=[]: context deadline exceeded',
    });
    await clock.advance(124_000);
    await waiting;
    manager.stop();
  });

  it("causes an event with the driver's message when it could not be attached", async () => {
    const { manager, clock, pod, gate, events, state } = setUp();
    state.checked = 'no room';
    gate.reported([KEY]);
    gate.attached([KEY]);
    void manager.ensure(pod).catch(() => undefined);
    await clock.settle();
    assert.deepEqual(events, ['pod-u1 Warning FailedMount MountVolume.WaitForAttach failed for volume "v" : no room']);
    manager.stop();
  });

  it('stays in use until the node has released it', async () => {
    const { manager, pod, gate, reported, clock } = setUp();
    gate.reported([KEY]);
    gate.attached([KEY]);
    await manager.ensure(pod);
    await manager.tearDown(podUid('u1'));
    await clock.settle();
    assert.deepEqual([reported, manager.volumesInUse()], [[[KEY], []], []]);
  });

  it('is used at once if an earlier agent used it', async () => {
    const { manager, pod, calls, state } = setUp();
    state.found = [{ key: KEY, path: '/global' }];
    await manager.reconstruct();
    await manager.ensure(pod);
    assert.deepEqual(calls, ['stage', 'setUp']);
  });
});

describe('a node that attaches its own volumes', () => {
  it('cannot attach CSI volumes, as in upstream', async () => {
    const { manager, pod, clock, events } = setUp({ byController: false });
    void manager.ensure(pod).catch(() => undefined);
    await clock.settle();
    assert.deepEqual(events, [
      'pod-u1 Warning FailedAttachVolume AttachVolume.Attach failed for volume "v" : attaching volumes from the kubelet is not supported',
    ]);
    manager.stop();
  });

  it('needs no attachment for disks it logs in to', async () => {
    const { manager, pod, calls } = setUp({ byController: false, attachedBy: 'byAnyone' });
    await manager.ensure(pod);
    assert.deepEqual(calls, ['check', 'stage', 'setUp']);
  });
});
