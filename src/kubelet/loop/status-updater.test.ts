import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { PodStatus } from '../../api/core/pod-status.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { WorkerState } from '../features/pod-workers/worker-state.ts';
import { createStatusUpdaterWorld, uid } from './testing/status-updater-world.ts';

describe('the status of a pod', () => {
  it('is not computed for an unknown pod', () => {
    const { updater, world, statuses } = createStatusUpdaterWorld();
    world.isKnown = false;
    assert.deepEqual([updater.refresh(uid), statuses.get(uid)], [undefined, undefined]);
  });

  it('is not ready to start containers while a volume is missing', () => {
    const { updater, world, contain } = createStatusUpdaterWorld();
    world.runtime = { ...contain('running'), containers: [] };
    const readyToStart = (): unknown =>
      updater.refresh(uid)?.conditions?.find(({ type }) => type === 'PodReadyToStartContainers')?.status;
    world.blockers = [{ step: 'volume secret', cause: 'is being set up', sinceMs: 0 }];
    const before = readyToStart();
    world.blockers = [];
    assert.deepEqual([before, readyToStart()], ['False', 'True']);
  });

  it('shows, while a worker restarts all containers, that one of them was removed', async () => {
    const { updater, world, contain } = createStatusUpdaterWorld({ 'spec.restartPolicy': 'Never' });
    world.runtime = contain('running');
    updater.refresh(uid);
    world.restartsAll = true;
    world.runtime = { ...contain('running'), containers: [] };
    const [main] = await updater.whileActing(uid, () => Promise.resolve(updater.refresh(uid)?.containerStatuses ?? []));
    assert.deepEqual(
      [main?.restartCount, main?.state?.waiting?.reason, main?.lastState?.terminated?.reason],
      [1, 'RestartingAllContainers', 'RestartingAllContainers'],
    );
  });

  it('is taken from the API server for a pod that ended and is no longer known locally', () => {
    const ended = {
      name: 'main',
      image: 'i',
      imageID: 'id',
      ready: false,
      started: false,
      restartCount: 4,
      containerID: 'containerd://c',
      state: { terminated: { exitCode: 7, reason: 'Error' } },
      lastState: {},
    };
    const { updater, world } = createStatusUpdaterWorld({
      'spec.restartPolicy': 'Never',
      'status.phase': 'Failed',
      'status.startTime': '2025-01-01T00:00:00Z',
      'status.containerStatuses': [ended],
    });
    world.restarts = false;
    const status = updater.refresh(uid);
    const [main] = status?.containerStatuses ?? [];
    assert.deepEqual(
      [status?.phase, status?.startTime, main?.state, main?.restartCount],
      ['Failed', '2025-01-01T00:00:00Z', { terminated: { exitCode: 7, reason: 'Error' } }, 4],
    );
  });

  it('is the one in the API server for a finished pod whose local record is older', () => {
    const running = {
      name: 'main',
      image: 'i',
      imageID: 'id',
      ready: true,
      started: true,
      restartCount: 4,
      containerID: 'containerd://c',
      state: { running: { startedAt: '2025-01-01T00:00:00Z' } },
      lastState: {},
    };
    const ended = {
      ...running,
      ready: false,
      started: false,
      state: { terminated: { exitCode: 0, reason: 'Completed' } },
    };
    const { updater, world } = createStatusUpdaterWorld(
      { 'spec.restartPolicy': 'Never', 'status.phase': 'Succeeded', 'status.containerStatuses': [ended] },
      { [uid]: { phase: 'Running', startTime: '2025-01-01T00:00:00Z', containerStatuses: [running] } },
    );
    world.restarts = false;
    for (const phase of ['syncing', 'finished'] as const) {
      world.worker = { ...world.worker, phase } as WorkerState;
      const status = updater.refresh(uid);
      const [main] = status?.containerStatuses ?? [];
      assert.deepEqual(
        [status?.phase, main?.state, main?.restartCount],
        ['Succeeded', { terminated: { exitCode: 0, reason: 'Completed' } }, 4],
      );
    }
  });

  it("continues from the newer of the API server's status and the local record", () => {
    const restarted = (restartCount: number): PodStatus => ({
      phase: 'Running',
      startTime: '2025-01-01T00:00:00Z',
      containerStatuses: [
        {
          name: 'main',
          image: 'i',
          imageID: 'id',
          ready: true,
          restartCount,
          state: { waiting: { reason: 'CrashLoopBackOff' } },
          lastState: {},
        },
      ],
    });
    for (const [shownStatus, recorded] of [
      [2, 1],
      [1, 2],
      [2, 2],
    ] as const) {
      const { updater } = createStatusUpdaterWorld(
        { 'status.phase': 'Running', 'status.containerStatuses': restarted(shownStatus).containerStatuses },
        { [uid]: restarted(recorded) },
      );
      assert.equal(updater.refresh(uid)?.containerStatuses?.[0]?.restartCount, 2);
    }
  });

  it("takes the start time of a pod that is found running from its sandbox and not from the agent's start", () => {
    const { updater, world, contain } = createStatusUpdaterWorld();
    world.runtime = contain('running');
    const status = updater.refresh(uid);
    assert.deepEqual([status?.phase, status?.startTime], ['Running', '2025-12-31T23:00:00Z']);
  });

  it('has the start time of the oldest of several sandboxes', () => {
    const { updater, world, contain } = createStatusUpdaterWorld();
    const running = contain('running');
    const [sandbox] = running.sandboxes;
    assert.ok(sandbox);
    const older = { ...sandbox, ready: false, createdAtMs: sandbox.createdAtMs - 60_000 };
    world.runtime = { ...running, sandboxes: [sandbox, older] };
    assert.equal(updater.refresh(uid)?.startTime, '2025-12-31T22:59:00Z');
  });

  it('fails exactly when the active deadline has passed, to the millisecond, and stays failed', async () => {
    const { updater, clock } = createStatusUpdaterWorld({ 'spec.activeDeadlineSeconds': 30 });
    assert.equal(updater.refresh(uid)?.phase, 'Pending');
    await clock.advance(29_999);
    assert.equal(updater.refresh(uid)?.phase, 'Pending');
    await clock.advance(1);
    const status = updater.refresh(uid);
    assert.deepEqual([status?.phase, status?.reason], ['Failed', 'DeadlineExceeded']);
    clock.stepWall(-3_600_000);
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
  });

  it('counts the active deadline from the start of the pod over restarts of the agent', async () => {
    const startTime = '2025-12-31T23:59:40Z';
    const restarts = [
      createStatusUpdaterWorld({ 'spec.activeDeadlineSeconds': 30 }, { [uid]: { phase: 'Running', startTime } }),
      createStatusUpdaterWorld({ 'spec.activeDeadlineSeconds': 3610 }),
    ];
    for (const { updater, world, contain, clock } of restarts) {
      // The second agent has lost its records. The sandbox is an hour old.
      world.runtime = contain('running');
      updater.refresh(uid);
      await clock.advance(9999);
      assert.equal(updater.refresh(uid)?.reason, undefined);
      await clock.advance(1);
      assert.equal(updater.refresh(uid)?.reason, 'DeadlineExceeded');
    }
  });

  it('is not terminal while a worker may still restart ended containers', async () => {
    const { updater, world, contain } = createStatusUpdaterWorld();
    world.runtime = contain('running');
    updater.refresh(uid);
    world.restarts = false;
    const seen = await updater.whileActing(uid, async () => {
      world.runtime = contain('exited');
      return updater.refresh(uid)?.phase;
    });
    assert.deepEqual([seen, updater.refresh(uid)?.phase], ['Running', 'Succeeded']);
  });

  it('is terminal after a sync, whether it succeeded or failed', async () => {
    const { updater, world, contain } = createStatusUpdaterWorld();
    world.runtime = contain('running');
    updater.refresh(uid);
    Object.assign(world, { runtime: contain('exited'), restarts: false });
    const failing = updater.whileActing(uid, async () => {
      throw new Error('the runtime is down');
    });
    await assert.rejects(failing, /the runtime is down/);
    assert.equal(updater.refresh(uid)?.phase, 'Succeeded');
  });

  it('does not show a container as ended that the same sync may recreate, because the API server does not accept the way back', async () => {
    for (const [policy, shown] of [
      ['Never', 'running'],
      ['OnFailure', 'running'],
      ['Always', 'terminated'],
    ] as const) {
      const { updater, world, contain } = createStatusUpdaterWorld({ 'spec.restartPolicy': policy });
      const shownStatus = (): string[] => Object.keys(updater.refresh(uid)?.containerStatuses?.[0]?.state ?? {});
      world.runtime = contain('running');
      shownStatus();
      const during = await updater.whileActing(uid, async () => {
        world.runtime = contain('exited', 143);
        return shownStatus();
      });
      assert.deepEqual([policy, during, shownStatus()], [policy, [shown], ['terminated']]);
    }
  });

  it('stays ready while one sync replaces a container whose image changed, and not while it ends of its own', async () => {
    for (const [policy, isDefinitionChanged, during] of [
      ['Always', true, ['running', true, 'True', 'True']],
      ['Never', true, ['running', true, 'True', 'True']],
      ['Always', false, ['terminated', false, 'False', 'False']],
    ] as const) {
      const { updater, world, contain } = createStatusUpdaterWorld({ 'spec.restartPolicy': policy });
      const shownStatus = (): readonly unknown[] => {
        const { containerStatuses: [main] = [], conditions = [] } = updater.refresh(uid) ?? {};
        const statusOf = (wanted: string) => conditions.find(({ type }) => type === wanted)?.status;
        return [...Object.keys(main?.state ?? {}), main?.ready, statusOf('Ready'), statusOf('ContainersReady')];
      };
      world.runtime = contain('running');
      assert.deepEqual(shownStatus(), ['running', true, 'True', 'True']);
      world.isDefinitionChanged = isDefinitionChanged;
      const seen = await updater.whileActing(uid, async () => {
        world.runtime = contain('exited', 143);
        return shownStatus();
      });
      assert.deepEqual([seen, shownStatus()], [during, ['terminated', false, 'False', 'False']]);
    }
  });

  it('is terminal at once when the last container exits', () => {
    const { updater, world, contain } = createStatusUpdaterWorld();
    world.runtime = contain('running');
    updater.refresh(uid);
    Object.assign(world, { runtime: contain('exited', 3), restarts: false });
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
  });

  it('is computed as terminal at once, and published as terminal only when nothing of the pod runs', async () => {
    const { updater, world, contain, statuses, clock } = createStatusUpdaterWorld({ 'spec.activeDeadlineSeconds': 30 });
    world.runtime = contain('running');
    updater.refresh(uid);
    await clock.advance(30_000);
    const shownStatus = () => [statuses.get(uid)?.phase, statuses.get(uid)?.reason];
    assert.deepEqual([updater.refresh(uid)?.reason, shownStatus()], ['DeadlineExceeded', ['Running', undefined]]);
    world.runtime = contain('exited');
    assert.deepEqual(
      [updater.refresh(uid)?.reason, shownStatus()],
      ['DeadlineExceeded', ['Failed', 'DeadlineExceeded']],
    );
  });

  it('returns the time left until the deadline, and undefined without one', async () => {
    const { updater, clock } = createStatusUpdaterWorld({ 'spec.activeDeadlineSeconds': 30 });
    const pod = buildPod({ 'spec.activeDeadlineSeconds': 30 });
    assert.equal(updater.deadlineInMs(pod), undefined);
    updater.refresh(uid);
    await clock.advance(12_000);
    assert.deepEqual([updater.deadlineInMs(pod), updater.deadlineInMs(buildPod())], [18_000, undefined]);
  });

  it('of a stopping pod is terminal only when nothing of it runs any more', () => {
    const { updater, world, contain, clock } = createStatusUpdaterWorld();
    const pod = buildPod();
    world.worker = {
      phase: 'terminating',
      subject: { kind: 'pod', pod },
      termination: { cause: 'evicted', graceMs: 1000, gone: false },
    };
    world.runtime = contain('running');
    assert.equal(updater.refresh(uid)?.phase, 'Running');
    world.runtime = contain('exited', 143);
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
    assert.equal(clock.armedTimers, 0);
  });
});

describe('the status of a pod whose runtime state is unknown', () => {
  it('keeps the status of an earlier run until the runtime state is known', () => {
    const { updater, world, phases } = createStatusUpdaterWorld(
      {},
      { [uid]: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
    );
    world.isRead = false;
    assert.equal(updater.refresh(uid)?.conditions?.[0]?.status, 'True');
    assert.deepEqual(phases, []);
    world.isRead = true;
    assert.equal(updater.refresh(uid)?.conditions?.find(({ type }) => type === 'Ready')?.status, 'False');
    assert.equal(phases.length, 1);
  });

  it('is not published for a new pod before its runtime state is known', () => {
    const { updater, world, phases } = createStatusUpdaterWorld();
    world.isRead = false;
    assert.deepEqual([updater.refresh(uid), phases], [undefined, []]);
  });
});
