import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { FakeClock } from '../../base/testing/fake-clock.ts';
import type { PodStatus } from '../../api/core/pod-status.ts';
import type { Changes } from '../../api/testing/pod-builder.ts';
import { buildPod } from '../../api/testing/pod-builder.ts';
import type { EvictionVerdict } from '../features/eviction/evicted-record.ts';
import type { PodVerdict } from '../features/admission/admission-state.ts';
import { StatusManager } from '../features/status/status-manager.ts';
import type { WorkerState } from '../features/pod-workers/worker-state.ts';
import { podUid } from '../model/ids.ts';
import type { PodRuntimeStatus } from '../model/runtime-status.ts';
import { emptyPodRuntimeStatus } from '../model/runtime-status.ts';
import { StatusUpdater } from './status-updater.ts';

const uid = podUid('uid-1');
const identity = { uid, name: 'web', namespace: 'default' };

function harness(changes: Changes = {}, restored: Record<string, PodStatus> = {}) {
  const clock = new FakeClock();
  const pod = buildPod(changes);
  const world = {
    worker: { phase: 'syncing', pod } as WorkerState,
    runtime: emptyPodRuntimeStatus(identity, 0),
    isKnown: true,
    restarts: true,
    isDefinitionChanged: false,
    verdict: undefined as PodVerdict | undefined,
    evicted: undefined as EvictionVerdict | undefined,
  };
  const statuses = new StatusManager(clock, { restored: new Map(Object.entries(restored)) });
  const updater = new StatusUpdater({
    statuses,
    clock,
    states: { get: () => world.worker },
    cache: { getOrEmpty: () => world.runtime, isRead: () => true },
    directory: { byUid: () => (world.isKnown ? pod : undefined) },
    allocation: { apply: (asked) => asked, conditions: () => [] },
    actuated: { container: () => undefined, podLevel: () => undefined },
    oomKills: { of: () => ({ containerMessage: () => undefined, condition: undefined }) },
    admission: { verdictOn: () => world.verdict },
    evicted: { get: () => world.evicted },
    rules: {
      shouldBeStarted: () => true,
      restartsAfterExit: () => world.restarts,
      isDefinitionChanged: () => world.isDefinitionChanged,
      shouldRestartAllContainers: () => false,
      needsNewSandbox: () => false,
      isGivenUp: () => false,
    },
    probes: { get: () => undefined },
    failures: { get: () => undefined },
    runtimeName: 'containerd',
    hostIps: [],
  });
  const contain = (state: 'running' | 'exited', exitCode = 0): PodRuntimeStatus => {
    const createdAtMs = clock.nowMs() - 3_600_000;
    const container = {
      id: 'c',
      sandboxId: 's',
      name: 'main',
      state,
      exitCode,
      attempt: 0,
      createdAtMs,
      startedAtMs: createdAtMs,
      finishedAtMs: state === 'exited' ? clock.nowMs() : 0,
      reason: 'Error',
      message: '',
      image: '',
      imageRef: '',
    };
    return {
      ...emptyPodRuntimeStatus(identity, 0),
      containers: [container],
      sandboxes: [{ id: 's', ready: state === 'running', createdAtMs, ips: [] }],
    } as unknown as PodRuntimeStatus;
  };
  return { clock, world, updater, statuses, contain };
}

describe('the status of a pod', () => {
  it('is not computed for an unknown pod', () => {
    const { updater, world, statuses } = harness();
    world.isKnown = false;
    assert.deepEqual([updater.refresh(uid), statuses.get(uid)], [undefined, undefined]);
  });

  it('is the one in the API server for a pod that ended long ago and left nothing else', () => {
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
    const { updater, world } = harness({
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
    const { updater, world } = harness(
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
      const { updater } = harness(
        { 'status.phase': 'Running', 'status.containerStatuses': restarted(shownStatus).containerStatuses },
        { [uid]: restarted(recorded) },
      );
      assert.equal(updater.refresh(uid)?.containerStatuses?.[0]?.restartCount, 2);
    }
  });

  it("takes the start time of a pod that is found running from its sandbox and not from the agent's start", () => {
    const { updater, world, contain } = harness();
    world.runtime = contain('running');
    const status = updater.refresh(uid);
    assert.deepEqual([status?.phase, status?.startTime], ['Running', '2025-12-31T23:00:00Z']);
  });

  it('fails exactly when the active deadline has passed, to the millisecond, and stays failed', async () => {
    const { updater, clock } = harness({ 'spec.activeDeadlineSeconds': 30 });
    assert.equal(updater.refresh(uid)?.phase, 'Pending');
    await clock.advance(29_999);
    assert.equal(updater.refresh(uid)?.phase, 'Pending');
    await clock.advance(1);
    const status = updater.refresh(uid);
    assert.deepEqual([status?.phase, status?.reason], ['Failed', 'DeadlineExceeded']);
    clock.stepWall(-3_600_000);
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
  });

  it('is not terminal while a worker may still restart what has ended', async () => {
    const { updater, world, contain } = harness();
    world.runtime = contain('running');
    updater.refresh(uid);
    world.restarts = false;
    const seen = await updater.whileActing(uid, async () => {
      world.runtime = contain('exited');
      return updater.refresh(uid)?.phase;
    });
    assert.deepEqual([seen, updater.refresh(uid)?.phase], ['Running', 'Succeeded']);
  });

  it('does not report the end of a container that may be recreated in the same sync, where the API server would not take it back', async () => {
    for (const [policy, shown] of [
      ['Never', 'running'],
      ['OnFailure', 'running'],
      ['Always', 'terminated'],
    ] as const) {
      const { updater, world, contain } = harness({ 'spec.restartPolicy': policy });
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
      const { updater, world, contain } = harness({ 'spec.restartPolicy': policy });
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
    const { updater, world, contain } = harness();
    world.runtime = contain('running');
    updater.refresh(uid);
    Object.assign(world, { runtime: contain('exited', 3), restarts: false });
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
  });

  it('is known to be terminal at once, and published as such only when nothing of the pod runs', async () => {
    const { updater, world, contain, statuses, clock } = harness({ 'spec.activeDeadlineSeconds': 30 });
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

  it('contains only the reason for a rejected pod', () => {
    const { updater, world, clock } = harness();
    world.verdict = { kind: 'rejected', reason: 'NodeAffinity', message: 'Pod was rejected: no' };
    assert.deepEqual(updater.refresh(uid), {
      phase: 'Failed',
      qosClass: 'BestEffort',
      reason: 'NodeAffinity',
      message: 'Pod was rejected: no',
      startTime: new Date(clock.nowMs()).toISOString().replace('.000', ''),
      conditions: [],
    });
  });

  it('stays as it is for a pod that an earlier run rejected', () => {
    const rejected: PodStatus = { phase: 'Failed', reason: 'UnexpectedAdmissionError', message: 'Pod was rejected: x' };
    const { world, updater } = harness({}, { [uid]: rejected });
    world.worker = { phase: 'finished' } as WorkerState;
    assert.deepEqual(updater.compute(buildPod({})), rejected);
  });

  it('names the holder of a held pod, and drops it afterwards', () => {
    const { updater, world } = harness();
    world.verdict = { kind: 'held', reason: 'AdmissionHeld', message: 'held by x: y' };
    const held = updater.refresh(uid);
    assert.deepEqual(
      [held?.phase, held?.reason, held?.message, held?.containerStatuses],
      ['Pending', 'AdmissionHeld', 'held by x: y', undefined],
    );
    world.verdict = undefined;
    const free = updater.refresh(uid);
    assert.deepEqual(
      [free?.phase, free?.reason, free?.message, free?.containerStatuses?.length],
      ['Pending', undefined, undefined, 1],
    );
  });

  it('shows that a pod was preempted, with the condition for it', () => {
    const { updater, world, contain } = harness();
    world.runtime = contain('running');
    assert.equal(updater.refresh(uid)?.phase, 'Running');
    world.verdict = {
      kind: 'preempted',
      reason: 'Preempting',
      message: 'm',
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'c' },
    };
    const status = updater.refresh(uid);
    assert.deepEqual([status?.phase, status?.reason, status?.message], ['Failed', 'Preempting', 'm']);
    world.runtime = contain('exited', 137);
    world.worker = {
      phase: 'terminated',
      pod: buildPod(),
      termination: { cause: 'evicted', graceMs: 1000, gone: false },
    };
    updater.refresh(uid);
    world.verdict = undefined;
    const after = updater.refresh(uid);
    assert.deepEqual(
      [after?.reason, after?.conditions?.filter(({ type }) => type === 'DisruptionTarget').map(({ reason }) => reason)],
      ['Preempting', ['TerminationByKubelet']],
    );
  });

  it('takes the final phase of a preempted pod from its containers, also after a restart of the agent', () => {
    const { updater, world, contain } = harness();
    world.runtime = contain('running');
    world.verdict = {
      kind: 'preempted',
      reason: 'Preempting',
      message: 'm',
      condition: { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: 'c' },
    };
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
    world.worker = {
      phase: 'terminating',
      subject: { kind: 'pod', pod: buildPod() },
      termination: { cause: 'evicted', graceMs: 1000, gone: false },
    };
    assert.equal(updater.refresh(uid)?.phase, 'Failed');
    world.runtime = contain('exited');
    const ended = updater.refresh(uid);
    assert.deepEqual(
      [ended?.phase, ended?.reason, ended?.conditions?.some(({ type }) => type === 'DisruptionTarget')],
      ['Succeeded', undefined, true],
    );
    world.worker = { phase: 'syncing', pod: buildPod() };
    assert.equal(updater.refresh(uid)?.phase, 'Succeeded');
  });

  for (const kind of ['preempted', 'evicted'] as const)
    it(`publishes no end of a pod that is ${kind} before its containers and its sandbox have stopped`, () => {
      const { updater, world, contain, statuses } = harness();
      const condition = {
        type: 'DisruptionTarget',
        status: 'True',
        reason: 'TerminationByKubelet',
        message: 'c',
      } as const;
      world.runtime = contain('running');
      updater.refresh(uid);
      if (kind === 'evicted') world.evicted = { reason: 'Evicted', message: 'm', condition };
      else world.verdict = { kind, reason: 'Preempting', message: 'm', condition };
      const published: (string | undefined)[] = [];
      const refresh = (): void => {
        updater.refresh(uid);
        published.push(statuses.get(uid)?.phase);
      };
      refresh();
      world.worker = {
        phase: 'terminating',
        subject: { kind: 'pod', pod: buildPod() },
        termination: { cause: 'evicted', graceMs: 1000, gone: false },
      };
      refresh();
      const stopped = contain('exited');
      world.runtime = { ...stopped, sandboxes: contain('running').sandboxes };
      refresh();
      assert.deepEqual(published, ['Running', 'Running', 'Running']);
      world.runtime = stopped;
      refresh();
      assert.equal(published.at(-1), 'Succeeded');
    });

  it('takes the final phase of an evicted pod from its containers, and keeps the reason of one that failed', () => {
    const ends: [number | undefined, string, string | undefined][] = [
      [0, 'Succeeded', undefined],
      [137, 'Failed', 'Evicted'],
      [undefined, 'Failed', 'Evicted'],
    ];
    for (const [exitCode, phase, reason] of ends) {
      const { updater, world, contain, statuses } = harness();
      const running = contain('running');
      world.runtime = exitCode === undefined ? { ...running, containers: [] } : running;
      updater.refresh(uid);
      const before = statuses.get(uid)?.phase;
      const condition = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet' } as const;
      world.evicted = { reason: 'Evicted', message: 'm', condition };
      if (exitCode !== undefined)
        assert.deepEqual([updater.refresh(uid)?.phase, statuses.get(uid)?.phase], ['Failed', before]);
      world.worker = {
        phase: 'terminated',
        pod: buildPod(),
        termination: { cause: 'evicted', graceMs: 1000, gone: false },
      };
      if (exitCode !== undefined) world.runtime = contain('exited', exitCode);
      updater.refresh(uid);
      const published = statuses.get(uid);
      assert.deepEqual(
        [published?.phase, published?.reason, published?.conditions?.[0]?.reason],
        [phase, reason, 'TerminationByKubelet'],
      );
    }
  });

  it('keeps a static pod that a shutdown ended Failed when its policy would restart it', () => {
    const { updater, world, contain } = harness({ 'metadata.annotations': { 'kubernetes.io/config.source': 'file' } });
    world.runtime = contain('running');
    updater.refresh(uid);
    world.evicted = { reason: 'Terminated', message: 'm' };
    world.worker = {
      phase: 'terminated',
      pod: buildPod(),
      termination: { cause: 'evicted', graceMs: 1000, gone: false },
    };
    world.runtime = contain('exited', 0);
    const status = updater.refresh(uid);
    assert.deepEqual([status?.phase, status?.reason], ['Failed', 'Terminated']);
  });

  it('returns the time left until the deadline, and undefined without one', async () => {
    const { updater, clock } = harness({ 'spec.activeDeadlineSeconds': 30 });
    const pod = buildPod({ 'spec.activeDeadlineSeconds': 30 });
    assert.equal(updater.deadlineInMs(pod), undefined);
    updater.refresh(uid);
    await clock.advance(12_000);
    assert.deepEqual([updater.deadlineInMs(pod), updater.deadlineInMs(buildPod())], [18_000, undefined]);
  });

  it('is terminal for a stopping pod only when nothing of it runs any more', () => {
    const { updater, world, contain, clock } = harness();
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

const found = podUid('u');

function updater(restored: Record<string, PodStatus>, isRead: () => boolean) {
  const clock = new FakeClock();
  const pod = buildPod({ 'metadata.uid': 'u' });
  const statuses = new StatusManager(clock, { restored: new Map(Object.entries(restored)) });
  const shownStatus: (string | undefined)[] = [];
  statuses.onChange(({ pod: changed }) => shownStatus.push(changed.status?.phase));
  const status = new StatusUpdater({
    statuses,
    clock,
    states: { get: () => undefined },
    cache: {
      getOrEmpty: () => emptyPodRuntimeStatus({ uid: found, name: 'web', namespace: 'default' }, 0),
      isRead,
    },
    directory: { byUid: () => pod },
    allocation: { apply: (asked) => asked, conditions: () => [] },
    actuated: { container: () => undefined, podLevel: () => undefined },
    oomKills: { of: () => ({ containerMessage: () => undefined, condition: undefined }) },
    admission: { verdictOn: () => undefined },
    evicted: { get: () => undefined },
    rules: {
      shouldBeStarted: () => true,
      restartsAfterExit: () => true,
      isDefinitionChanged: () => false,
      shouldRestartAllContainers: () => false,
      needsNewSandbox: () => true,
      isGivenUp: () => false,
    },
    probes: { get: () => undefined },
    failures: { get: () => undefined },
    runtimeName: 'containerd',
    hostIps: [],
  });
  return { status, shownStatus };
}

describe('the status of a pod whose runtime state is unknown', () => {
  it('keeps the status of an earlier run until the runtime state is known', () => {
    let read = false;
    const { status, shownStatus } = updater(
      { u: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] } },
      () => read,
    );
    assert.equal(status.refresh(found)?.conditions?.[0]?.status, 'True');
    assert.deepEqual(shownStatus, []);
    read = true;
    assert.equal(status.refresh(found)?.conditions?.find(({ type }) => type === 'Ready')?.status, 'False');
    assert.equal(shownStatus.length, 1);
  });

  it('is not published for a new pod before that', () => {
    const { status, shownStatus } = updater({}, () => false);
    assert.deepEqual([status.refresh(found), shownStatus], [undefined, []]);
  });
});
